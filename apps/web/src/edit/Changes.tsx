import { ArrowRight } from "lucide-react";
import { Untrusted } from "../text/Untrusted";
import { Scalar } from "../value/Scalar";
import { type Change, changesOf } from "./changes";

interface Props {
  before: unknown;
  after: unknown;
}

/** What a person has changed, field by field. */
export function Changes({ before, after }: Props) {
  const changes = changesOf(before, after);
  return (
    <ul className="changes" aria-label="Changes">
      {changes.map((change) => (
        <li key={change.path} className="changes__row">
          <ChangeRow change={change} />
        </li>
      ))}
    </ul>
  );
}

function ChangeRow({ change: { path, before, after } }: { change: Change }) {
  return (
    <>
      <span className="changes__name">{path === "" ? "All of it" : <Untrusted text={path} />}</span>
      <span className="changes__values">
        <del className="changes__before">
          <span className="visually-hidden">before: </span>
          <Scalar value={scalarOf(before)} />
        </del>
        <ArrowRight size={13} aria-hidden="true" className="changes__arrow" />
        <ins className="changes__after">
          <span className="visually-hidden">now: </span>
          <Scalar value={scalarOf(after)} />
        </ins>
      </span>
    </>
  );
}

function scalarOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

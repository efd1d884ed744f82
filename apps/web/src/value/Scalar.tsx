import { Untrusted } from "../text/Untrusted";
import { isAmbiguous } from "./isAmbiguous";

/** A value that fits in a cell. */
export function Scalar({ value }: { value: unknown }) {
  if (value === undefined) return <span className="value value--none">not given</span>;
  if (typeof value !== "string") return <span className="value value--exact">{String(value)}</span>;
  if (!isAmbiguous(value)) {
    return (
      <span className="value">
        <Untrusted text={value} />
      </span>
    );
  }
  return (
    <span className="value">
      <span className="value__quote">“</span>
      <Untrusted text={value} />
      <span className="value__quote">”</span>
    </span>
  );
}

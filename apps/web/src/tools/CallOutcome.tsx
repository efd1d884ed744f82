import { useMemo, useState } from "react";
import { Untrusted } from "../text/Untrusted";
import { Review } from "../value/Review";
import { ValuePreview } from "../value/ValuePreview";
import { type CardState, endingOf, noteOf } from "./callStatus";
import { unlessGuarded } from "./guard";
import { StoredFiles } from "./StoredFiles";
import { storedFilesOf } from "./storedFiles";
import { Time } from "./Time";

interface Props {
  /** The call. */
  id: string;
  state: CardState;
  title: string;
  /** Collapses the result. */
  isCompact?: boolean | undefined;
  /** Whether the assistant gets the outcome. */
  isTold?: boolean | undefined;
}

/** The result or error of a settled call, and its cause. */
export function CallOutcome({ id, state, title, isCompact = false, isTold = true }: Props) {
  const [isReviewing, setIsReviewing] = useState(false);
  const output = state.kind === "settled" && state.result.kind === "output" ? state.result.output : undefined;
  const files = useMemo(() => storedFilesOf(output, id), [output, id]);
  if (state.kind !== "settled") return null;
  const { cause, at, result } = state;
  const ending = endingOf(state);
  const note = noteOf(state);
  return (
    <>
      {ending !== undefined && (
        <p className="tool-card__note">
          {ending}
          {at !== undefined && (
            <>
              {" "}
              <Time iso={at} />
            </>
          )}
        </p>
      )}
      {note !== undefined && (
        <p className="tool-card__note">
          <Untrusted text={note} reading="prose" />
        </p>
      )}
      {result.kind === "output" && (
        <details className="tool-card__fold" open={!isCompact}>
          <summary>Result</summary>
          <StoredFiles files={files} title={title} />
          <ValuePreview
            id={`${id} result`}
            caption={`Result of ${title}`}
            value={result.output}
            onReview={unlessGuarded(() => setIsReviewing(true))}
          />
        </details>
      )}
      {result.kind === "error" && cause !== "decision" && (
        <p className={ending === undefined ? "tool-card__error" : "tool-card__told"}>
          {ending !== undefined && isTold && "The assistant was told: "}
          <Untrusted text={result.text} />
        </p>
      )}
      {result.kind === "output" && isReviewing && (
        <Review
          id={`${id} result`}
          title={title}
          subject="Result"
          value={result.output}
          onClose={() => setIsReviewing(false)}
        />
      )}
    </>
  );
}

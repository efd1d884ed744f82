import { useState } from "react";
import { Review } from "../value/Review";
import { ValuePreview } from "../value/ValuePreview";
import type { AnyToolPart, CardState } from "./callStatus";

interface Props {
  part: AnyToolPart;
  state: CardState;
  title: string;
}

/** What a running tool has reported last. The outcome takes its place. */
export function CallProgress({ part, state, title }: Props) {
  const [isReviewing, setIsReviewing] = useState(false);
  if (state.kind !== "running" || state.progress === undefined) return null;
  const { progress } = state;
  const id = `${part.toolCallId} progress`;
  return (
    <div className="tool-card__progress" role="status">
      <p className="tool-card__note">So far:</p>
      <ValuePreview id={id} caption={`Progress of ${title}`} value={progress} onReview={() => setIsReviewing(true)} />
      {isReviewing && (
        <Review id={id} title={title} subject="Progress" value={progress} onClose={() => setIsReviewing(false)} />
      )}
    </div>
  );
}

import { useState } from "react";
import { Review } from "../value/Review";
import { ValuePreview } from "../value/ValuePreview";

/** Data that a model or tool sent with its text. */
export function DataPart({ id, value }: { id: string; value: unknown }) {
  const [isReviewing, setIsReviewing] = useState(false);
  return (
    <>
      <ValuePreview id={id} caption="Data" value={value} onReview={() => setIsReviewing(true)} />
      {isReviewing && <Review id={id} title="Data" subject="" value={value} onClose={() => setIsReviewing(false)} />}
    </>
  );
}

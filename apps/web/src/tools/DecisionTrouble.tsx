import { callStatus, type DecisionProgress } from "holdpoint";
import type { CardState } from "./callStatus";

interface Props {
  state: CardState;
  progress: DecisionProgress | undefined;
}

/** A decision of this page that has not arrived, or was refused. */
export function DecisionTrouble({ state, progress }: Props) {
  const { trouble } = state.kind === "gone" ? callStatus(undefined, { decision: progress }) : state;
  const isShown = trouble?.kind === "refused" || (trouble?.kind === "unconfirmed" && state.kind !== "gone");
  if (!isShown) return null;
  return (
    <p className="tool-card__error" role="alert">
      {trouble.text}
    </p>
  );
}

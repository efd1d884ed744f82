import type { DecisionProgress } from "holdpoint";
import type { CallState } from "./callState";
import { refusalText, SENT_TEXTS } from "./texts";

interface Props {
  state: CallState;
  progress: DecisionProgress | undefined;
}

/** A decision of this page that has not arrived, or was refused. */
export function DecisionTrouble({ state, progress }: Props) {
  if (state.kind === "retrying") {
    return (
      <p className="tool-card__error" role="alert">
        The server does not respond, so it is not known whether your {SENT_TEXTS[state.sent]} has arrived. It is sent
        again until the server confirms it; keep this page open.
      </p>
    );
  }
  if (progress?.state !== "refused") return null;
  const status = progress.error.status;
  return (
    <p className="tool-card__error" role="alert">
      {refusalText(progress.kind, status)}
    </p>
  );
}

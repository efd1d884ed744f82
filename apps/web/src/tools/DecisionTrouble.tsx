import { type DecisionReport, ServerError } from "holdpoint";
import type { CallState } from "./callState";
import { refusalText } from "./words";

interface Props {
  state: CallState;
  report: DecisionReport | undefined;
}

/** A decision of this page that has not arrived, or was refused. */
export function DecisionTrouble({ state, report }: Props) {
  if (state.kind === "retrying") {
    return (
      <p className="tool-card__error" role="alert">
        The server does not respond, so it is not known whether your {state.approved ? "approval" : "denial"} has
        arrived. It is sent again until the server confirms it; keep this page open.
      </p>
    );
  }
  if (report?.state !== "refused") return null;
  const status = report.error instanceof ServerError ? report.error.status : undefined;
  return (
    <p className="tool-card__error" role="alert">
      {refusalText(report.approved, status)}
    </p>
  );
}

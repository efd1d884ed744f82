import type { DecisionProgress } from "holdpoint";
import type { Decision } from "holdpoint/protocol";
import { Fragment } from "react";
import { Untrusted } from "../text/Untrusted";
import type { CallState } from "./callState";
import { Time } from "./Time";

interface Props {
  state: CallState;
  progress: DecisionProgress | undefined;
}

/** Who decided, when and why, as recorded. */
export function DecisionLine({ state, progress }: Props) {
  const decision = state.kind === "running" || state.kind === "settled" ? state.decision : undefined;
  if (decision === undefined) return null;
  const did = decision.kind === "approve" ? "approved" : "denied";
  return (
    <p className="tool-card__decision">
      {isOwn(decision, progress) ? (
        <>
          <b>You</b> {did} this
        </>
      ) : (
        <>
          {did === "approved" ? "Approved" : "Denied"} by <Names names={decision.by} />
        </>
      )}{" "}
      at <Time iso={decision.at} />
      {decision.reason ? (
        <>
          : <Untrusted text={decision.reason} />
        </>
      ) : (
        "."
      )}
    </p>
  );
}

/** Whether this page made the decision in force. Another tab of the same user is named like anybody else. */
function isOwn(decision: Decision, progress: DecisionProgress | undefined): boolean {
  return progress?.state === "in-force" && !progress.ignored && progress.approved === (decision.kind === "approve");
}

function Names({ names }: { names: readonly string[] }) {
  return names.map((name, at) => (
    <Fragment key={name}>
      {at > 0 && ", "}
      <b>
        <Untrusted text={name} />
      </b>
    </Fragment>
  ));
}

import type { DecisionProgress } from "holdpoint";
import type { Decision, DecisionKind } from "holdpoint/protocol";
import { Fragment } from "react";
import { Untrusted } from "../text/Untrusted";
import type { CardState } from "./callStatus";
import { Time } from "./Time";

interface Props {
  state: CardState;
  progress: DecisionProgress | undefined;
}

/** Who decided, when and why, as recorded. */
export function DecisionLine({ state, progress }: Props) {
  const decision = state.kind === "running" || state.kind === "settled" ? state.decision : undefined;
  if (decision === undefined) return null;
  const { own, others } = WORDS[decision.kind];
  return (
    <p className="tool-card__decision">
      {decision.grant !== undefined ? (
        <>
          Ran without a question, by a grant of <Names names={decision.by} />,
        </>
      ) : isOwn(decision, progress) ? (
        <>
          <b>You</b> {own}
        </>
      ) : (
        <>
          {others} <Names names={decision.by} />
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
      {decision.kind === "answer" && " The tool did not run."}
    </p>
  );
}

const WORDS: Record<DecisionKind, { own: string; others: string }> = {
  approve: { own: "approved this", others: "Approved by" },
  edit: { own: "approved this with changes", others: "Approved with changes by" },
  deny: { own: "denied this", others: "Denied by" },
  answer: { own: "answered this in the tool's place", others: "Answered in the tool's place by" },
};

/** Whether this page made the decision in force. Another tab of the same user is named like anybody else. */
function isOwn(decision: Decision, progress: DecisionProgress | undefined): boolean {
  return progress?.state === "in-force" && !progress.ignored && progress.kind === decision.kind;
}

function Names({ names }: { names: readonly string[] }) {
  return names.map((name, at) => (
    <Fragment key={name}>
      {at > 0 && (at === names.length - 1 ? " and " : ", ")}
      <b>
        <Untrusted text={name} />
      </b>
    </Fragment>
  ));
}

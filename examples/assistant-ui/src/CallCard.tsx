import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import type { DecisionProgress } from "holdpoint";
import type { ReactNode } from "react";
import { useAgentChat } from "./AgentChat";
import { type CallStatus, callStatus } from "./callStatus";
import { Fields } from "./Fields";

const LABELS: Record<CallStatus, string> = {
  waiting: "Waiting for you",
  running: "Running",
  done: "Done",
  failed: "Failed",
  denied: "Denied",
  expired: "Expired",
  stopped: "Stopped",
  superseded: "Superseded",
  lost: "Outcome unknown",
  refused: "Refused",
};

/** What the card reads of assistant-ui's props, whatever the tool's types are. */
type Props = Omit<ToolCallMessagePartProps, "addResult" | "resume">;

/** A call of a tool, with its approval. `children` replaces the output. */
export function CallCard({ children, ...part }: Props & { children?: ReactNode }) {
  const { tools } = useAgentChat();
  const { toolName, args, result } = part;
  const status = callStatus(part);
  const title = tools?.find(({ name }) => name === toolName)?.title ?? toolName;
  return (
    <section className="card" data-tool={toolName} data-state={status} aria-label={`${title}: ${LABELS[status]}`}>
      <h2>
        {title} <span className="badge">{LABELS[status]}</span>
      </h2>
      <Fields of={args} />
      {status === "waiting" && <Approval {...part} />}
      {result !== undefined && (children ?? <Fields of={result} />)}
    </section>
  );
}

function Approval({ approval, respondToApproval }: Props) {
  const { decisions } = useAgentChat();
  const decision = approval && decisions[approval.id];
  if (decision && decision.state !== "refused") return <p>{wordsFor(decision)}</p>;
  return (
    <>
      {decision && <p role="alert">{decision.error.message}</p>}
      <div className="actions">
        <button type="button" className="primary" onClick={() => respondToApproval({ approved: true })}>
          Approve
        </button>
        <button type="button" onClick={() => respondToApproval({ approved: false })}>
          Deny
        </button>
      </div>
    </>
  );
}

/** What became of a decision of this page. Without a default: the compiler says if a state has no words. */
function wordsFor(decision: Exclude<DecisionProgress, { state: "refused" }>): string {
  const yours = `Your ${decision.approved ? "approval" : "denial"}`;
  switch (decision.state) {
    case "sending":
      return `${yours} is being sent.`;
    case "retrying":
      return `${yours} is being sent. It is sent again: ${decision.error.message}`;
    case "voted":
      return `You have approved. ${decision.votes} of ${decision.quorum} have; it waits for the others.`;
    case "in-force":
      return `${yours} is in force.`;
  }
}

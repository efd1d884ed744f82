import { getToolName } from "ai";
import type { UseHoldpointHelpers } from "holdpoint/react";
import type { AgentMessage } from "./agent";
import { CallBody } from "./CallBody";
import { type Call, type CallStatus, callStatus } from "./callStatus";
import { Fields } from "./Fields";

const LABELS: Record<CallStatus["kind"], string> = {
  preparing: "Preparing",
  waiting: "Waiting for you",
  deciding: "Deciding",
  voted: "Waiting for others",
  running: "Running",
  undelivered: "Not delivered",
  done: "Done",
  failed: "Failed",
  denied: "Denied",
  expired: "Expired",
  stopped: "Stopped",
  superseded: "Superseded",
  lost: "Outcome unknown",
  refused: "Refused",
};

/** A call of a tool: what it does, how it stands, and what can be done about it. */
export function CallCard({ part, chat }: { part: Call; chat: UseHoldpointHelpers<AgentMessage> }) {
  const name = getToolName(part);
  const title = chat.tools?.find((tool) => tool.name === name)?.title ?? name;
  const status = callStatus(part, {
    hold: chat.holds?.find(({ toolCallId }) => toolCallId === part.toolCallId),
    decision: part.approval && chat.decisions[part.approval.id],
    toolError: chat.toolErrors[part.toolCallId],
  });
  return (
    <section className="card" data-tool={name} data-state={status.kind} aria-label={`${title}: ${LABELS[status.kind]}`}>
      <h2>
        {title} <span className="badge">{LABELS[status.kind]}</span>
      </h2>
      <Fields of={part.input} />
      <CallBody status={status} approve={chat.approve} deny={chat.deny} retry={() => chat.retryTool(part.toolCallId)} />
    </section>
  );
}

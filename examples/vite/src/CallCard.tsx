import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import type { UseHoldpointHelpers } from "holdpoint/react";
import type { AgentMessage } from "./agent";
import { CallBody } from "./CallBody";
import { Fields } from "./Fields";

type Props = { part: ToolUIPart | DynamicToolUIPart; chat: UseHoldpointHelpers<AgentMessage> };

/** A call of a tool: what it does, how it stands, and what can be done about it. */
export function CallCard({ part, chat }: Props) {
  const name = getToolName(part);
  const title = chat.tools?.find((tool) => tool.name === name)?.title ?? name;
  const status = chat.callStatus(part.toolCallId);
  const state = status.kind === "settled" ? status.outcome : status.kind;
  return (
    <section
      className="card"
      data-tool={name}
      data-state={state}
      data-tone={status.tone}
      aria-label={`${title}: ${status.label}`}
    >
      <h2>
        {title} <span className="badge">{status.label}</span>
      </h2>
      <Fields of={part.input} />
      <CallBody status={status} approve={chat.approve} deny={chat.deny} retry={() => chat.retryTool(part.toolCallId)} />
    </section>
  );
}

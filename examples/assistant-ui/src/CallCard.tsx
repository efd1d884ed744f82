import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { useAgentChat } from "./AgentChat";
import { Fields } from "./Fields";

/** What the card reads of assistant-ui's props, whatever the tool's types are. */
type Props = Omit<ToolCallMessagePartProps, "addResult" | "resume">;

/** A call of a tool, with its approval. `children` replaces the output. */
export function CallCard({ children, ...part }: Props & { children?: ReactNode }) {
  const { tools, callStatus } = useAgentChat();
  const { toolCallId, toolName, args, respondToApproval } = part;
  const status = callStatus(toolCallId);
  const state = status.kind === "settled" ? status.outcome : status.kind;
  const title = tools?.find(({ name }) => name === toolName)?.title ?? toolName;
  const isOpen = status.kind === "approval-requested" && status.mayDecide && !status.hasVoted;
  return (
    <section
      className="card"
      data-tool={toolName}
      data-state={state}
      data-tone={status.tone}
      aria-label={`${title}: ${status.label}`}
    >
      <h2>
        {title} <span className="badge">{status.label}</span>
      </h2>
      <Fields of={args} />
      {status.kind === "settled" && status.result.kind === "output" ? (
        (children ?? <Fields of={status.result.output} />)
      ) : (
        <p role={status.tone === "bad" ? "alert" : undefined}>{status.text}</p>
      )}
      {isOpen && (
        <div className="actions">
          <button type="button" className="primary" onClick={() => respondToApproval({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => respondToApproval({ approved: false })}>
            Deny
          </button>
        </div>
      )}
    </section>
  );
}

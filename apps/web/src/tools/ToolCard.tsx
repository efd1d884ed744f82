import { type ChatRecord, callOf } from "../chat/standing";
import { BrowserRun } from "./BrowserRun";
import { CallCard } from "./CallCard";
import type { AnyToolPart } from "./callState";
import { OpenUrlRow } from "./OpenUrlRow";

interface Props {
  part: AnyToolPart;
  record: ChatRecord;
}

/** A call in its chat. */
export function ToolCard({ part, record }: Props) {
  const { approvalId, ...call } = callOf(part, record);
  const { actions } = record;
  const { toolCallId, toolName, state } = call;
  return (
    <CallCard
      call={call}
      tool={record.toolNamed(toolName)}
      decide={
        actions && approvalId !== undefined
          ? (approved, reason) => actions.decide(approvalId, approved, reason)
          : undefined
      }
      attributes={{ "data-state": part.state }}
    >
      {actions && (
        <BrowserRun
          toolName={toolName}
          state={state}
          run={record.runOf(toolCallId)}
          onRetry={() => actions.retry(toolCallId)}
        />
      )}
      {toolName === "open-url" && actions && (
        <OpenUrlRow input={call.input} isWaiting={state.kind === "running"} onRetry={() => actions.retry(toolCallId)} />
      )}
    </CallCard>
  );
}

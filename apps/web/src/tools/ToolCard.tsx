import { type CallLookup, callOf } from "../chat/callRecords";
import { BrowserRun } from "./BrowserRun";
import { CallCard } from "./CallCard";
import type { AnyToolPart } from "./callState";
import { OpenUrlRow } from "./OpenUrlRow";

interface Props {
  part: AnyToolPart;
  lookup: CallLookup;
}

/** A call in its chat. */
export function ToolCard({ part, lookup }: Props) {
  const { approvalId, ...call } = callOf(part, lookup);
  const { actions } = lookup;
  const { toolCallId, toolName, state } = call;
  return (
    <CallCard
      call={call}
      tool={lookup.toolNamed(toolName)}
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
          run={lookup.runOf(toolCallId)}
          onRetry={() => actions.retry(toolCallId)}
        />
      )}
      {toolName === "open-url" && actions && (
        <OpenUrlRow input={call.input} isWaiting={state.kind === "running"} onRetry={() => actions.retry(toolCallId)} />
      )}
    </CallCard>
  );
}

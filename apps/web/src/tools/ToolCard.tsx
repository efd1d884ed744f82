import { type CallLookup, callOf } from "../chat/callRecords";
import { BrowserRun } from "./BrowserRun";
import { CallCard } from "./CallCard";
import { CallProgress } from "./CallProgress";
import type { AnyToolPart } from "./callStatus";
import { cardOf } from "./registry";

interface Props {
  part: AnyToolPart;
  lookup: CallLookup;
}

/** A call in its chat. */
export function ToolCard({ part, lookup }: Props) {
  const { approvalId, ...call } = callOf(part, lookup);
  const { actions } = lookup;
  const { toolCallId, toolName, state } = call;
  const { body: Body } = cardOf(toolName);
  const run = lookup.runOf(toolCallId);
  return (
    <CallCard
      call={call}
      tool={lookup.toolNamed(toolName)}
      decide={actions && approvalId !== undefined ? (decision) => actions.decide(approvalId, decision) : undefined}
      attributes={{ "data-state": part.state }}
    >
      <CallProgress part={part} state={state} title={call.title ?? toolName} />
      {actions && <BrowserRun toolName={toolName} state={state} run={run} onRetry={() => actions.retry(toolCallId)} />}
      {actions && Body && <Body call={call} run={run} onRetry={() => actions.retry(toolCallId)} />}
    </CallCard>
  );
}

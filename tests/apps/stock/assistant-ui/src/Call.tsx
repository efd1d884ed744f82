import type { ToolCallMessagePartProps } from "@assistant-ui/react";

export function Call(part: ToolCallMessagePartProps) {
  const { toolName, args, result, respondToApproval } = part;
  const state = stateOf(part);
  return (
    <section className="card" data-tool={toolName} data-state={state}>
      <pre>{JSON.stringify(args)}</pre>
      {state === "approval-requested" && (
        <>
          <button type="button" onClick={() => respondToApproval({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => respondToApproval({ approved: false })}>
            Deny
          </button>
        </>
      )}
      {result !== undefined && <pre>{JSON.stringify(result)}</pre>}
    </section>
  );
}

function stateOf({ result, isError, approval }: ToolCallMessagePartProps) {
  if (result === undefined) return approval && approval.approved === undefined ? "approval-requested" : "running";
  if (approval?.approved === false) return "denied";
  return isError ? "failed" : "done";
}

import type { CallStatus } from "holdpoint";
import { Fields } from "./Fields";

type Props = {
  status: CallStatus;
  approve: (approvalId: string) => void;
  deny: (approvalId: string) => void;
  retry: () => void;
};

/** What a card says about its call, below the input. */
export function CallBody({ status, approve, deny, retry }: Props) {
  const { trouble } = status;
  return (
    <>
      {status.kind === "settled" && status.result.kind === "output" ? (
        <Fields of={status.result.output} />
      ) : (
        <p role={trouble || status.tone === "bad" ? "alert" : undefined}>{status.text}</p>
      )}
      {trouble?.kind === "undelivered" && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
      {status.kind === "approval-requested" && <Request request={status} approve={approve} deny={deny} />}
    </>
  );
}

type RequestProps = Pick<Props, "approve" | "deny"> & { request: CallStatus & { kind: "approval-requested" } };

/** Until when it waits, and the buttons, while this user can still decide it. */
function Request({ request, approve, deny }: RequestProps) {
  const { approvalId, mayDecide, hasVoted, expiresAt } = request;
  return (
    <>
      {expiresAt && <p>Until {new Date(expiresAt).toLocaleTimeString()}</p>}
      {approvalId && mayDecide && !hasVoted && (
        <div className="actions">
          <button type="button" className="primary" onClick={() => approve(approvalId)}>
            Approve
          </button>
          <button type="button" onClick={() => deny(approvalId)}>
            Deny
          </button>
        </div>
      )}
    </>
  );
}

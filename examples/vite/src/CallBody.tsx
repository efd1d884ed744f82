import type { CallStatus } from "./callStatus";
import { Fields } from "./Fields";

type Props = {
  status: CallStatus;
  approve: (approvalId: string) => void;
  deny: (approvalId: string) => void;
  retry: () => void;
};

/** What a card says about its call, below the input. */
export function CallBody({ status, approve, deny, retry }: Props) {
  switch (status.kind) {
    case "preparing":
    case "running":
      return null;
    case "waiting":
      return (
        <>
          {status.refusal && <p role="alert">{status.refusal}</p>}
          {status.hold?.votes && (
            <p>
              {status.hold.votes.by.length} of {status.hold.votes.quorum} have approved
            </p>
          )}
          {status.hold?.expiresAt && <p>Until {new Date(status.hold.expiresAt).toLocaleTimeString()}</p>}
          <div className="actions">
            <button type="button" className="primary" onClick={() => approve(status.approvalId)}>
              Approve
            </button>
            <button type="button" onClick={() => deny(status.approvalId)}>
              Deny
            </button>
          </div>
        </>
      );
    case "deciding":
      return (
        <p>
          Your {status.approved ? "approval" : "denial"} {status.isAccepted ? "is in force." : "is being sent."}
          {status.problem && ` It is sent again: ${status.problem}`}
        </p>
      );
    case "voted":
      return (
        <p>
          You have approved. {status.votes} of {status.quorum} have; it waits for the others
          {status.expiresAt && `, until ${new Date(status.expiresAt).toLocaleTimeString()}`}.
        </p>
      );
    case "undelivered":
      return (
        <p role="alert">
          {status.problem}
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      );
    case "done":
      return <Fields of={status.output} />;
    case "failed":
    case "refused":
      return <p>{status.problem}</p>;
    case "denied":
      return (
        <p>
          Denied{status.by && ` by ${status.by}`}
          {status.reason && `: ${status.reason}`}. Nothing was carried out.
        </p>
      );
    case "expired":
      return <p>Nobody answered in time. Nothing was carried out.</p>;
    case "stopped":
      return <p>The turn was stopped before the call ended.</p>;
    case "superseded":
      return <p>A newer message replaced this request. Nobody denied it.</p>;
    case "lost":
      return <p role="alert">The server stopped while the tool ran. Check whether it was carried out.</p>;
  }
}

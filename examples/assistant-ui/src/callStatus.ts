import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import { settledMetadata } from "holdpoint";

/** What there is to say about a call. */
export type CallStatus =
  /** It waits for a decision. */
  | "waiting"
  | "running"
  | "done"
  | "failed"
  | "denied"
  /** Nobody decided in time. */
  | "expired"
  | "stopped"
  /** A newer message replaced it. Nobody denied it. */
  | "superseded"
  /** The server stopped while the tool ran. Nobody knows whether it was carried out. */
  | "lost"
  /** Nothing ran: the input was not valid, the tool is gone, or a limit was reached. */
  | "refused";

type Props = Pick<ToolCallMessagePartProps, "result" | "isError" | "approval" | "providerMetadata">;

export function callStatus({ result, isError, approval, providerMetadata }: Props): CallStatus {
  if (result === undefined) return approval && approval.approved === undefined ? "waiting" : "running";
  // The server's record says why a call ended. It follows the outcome in a moment.
  const cause = settledMetadata({ callProviderMetadata: providerMetadata })?.cause;
  switch (cause) {
    case "decision":
      // An approval that was not carried out is an answer in the tool's place: the result is a person's.
      return approval?.approved === true ? "done" : "denied";
    case "interrupted":
      return "lost";
    case "expired":
    case "stopped":
    case "superseded":
    case "refused":
      return cause;
    case "ran":
    case "result":
    case undefined:
      return isError ? "failed" : "done";
  }
}

import type { DecisionProgress, HoldpointError } from "holdpoint";
import type { DecisionKind } from "holdpoint/protocol";
import { useEffect, useRef, useState } from "react";

interface Sent {
  isSending: boolean;
  /** Call when the decision is sent. */
  onSent: () => void;
}

/** Follows a decision that a dialog has sent: closes it once the decision is in force, and reports a refusal. */
export function useSent(
  kind: DecisionKind,
  progress: DecisionProgress | undefined,
  { onClose, onRefused }: { onClose: () => void; onRefused: (error: HoldpointError) => void },
): Sent {
  const [isSent, setIsSent] = useState(false);
  /** The outcome of an earlier attempt is not the outcome of this one. */
  const before = useRef<DecisionProgress>(undefined);
  const callbacks = useRef({ onClose, onRefused });
  callbacks.current = { onClose, onRefused };

  useEffect(() => {
    if (!isSent || progress === undefined || progress === before.current || progress.kind !== kind) return;
    if (progress.state === "in-force") callbacks.current.onClose();
    if (progress.state !== "refused") return;
    setIsSent(false);
    callbacks.current.onRefused(progress.error);
  }, [isSent, progress, kind]);

  return {
    isSending: isSent,
    onSent: () => {
      before.current = progress;
      setIsSent(true);
    },
  };
}

import { useServerStatus } from "holdpoint/react";
import { useEffect, useState } from "react";
import { useClient } from "../api/server";
import { remaining } from "./countdown";
import { timeText } from "./texts";

interface Props {
  requestedAt: string;
  expiresAt: string;
}

const CIRCUMFERENCE = 2 * Math.PI * 7;

/** The time left to decide, by the server's clock. Not a live region: a screen reader should not count aloud. */
export function Countdown({ requestedAt, expiresAt }: Props) {
  const client = useClient();
  const [now, setNow] = useState(() => client.now());
  const isCurrent = useServerStatus({ client }).state !== "unreachable";
  const left = remaining(expiresAt, now);
  const isOver = left?.isOver ?? true;

  useEffect(() => {
    if (isOver || !isCurrent) return;
    setNow(client.now());
    const timer = setInterval(() => setNow(client.now()), 250);
    return () => clearInterval(timer);
  }, [isOver, isCurrent, client]);

  if (left === undefined) return null;
  // While disconnected it is unknown whether the request is still open: only the deadline can be shown.
  if (!isCurrent) return <span className="countdown">until {timeText(expiresAt, new Date())}</span>;
  const whole = Date.parse(expiresAt) - Date.parse(requestedAt);
  const share = whole > 0 ? Math.min(1, left.ms / whole) : 0;
  return (
    <span className="countdown" data-urgent={left.isUrgent} role="timer" aria-live="off">
      <svg viewBox="0 0 18 18" aria-hidden="true">
        <circle className="countdown__track" cx="9" cy="9" r="7" />
        <circle
          className="countdown__left"
          cx="9"
          cy="9"
          r="7"
          strokeDasharray={CIRCUMFERENCE}
          strokeDashoffset={CIRCUMFERENCE * (1 - share)}
        />
      </svg>
      {/* Only the server can say that it has expired. */}
      {left.isOver ? "time is up" : <span>{left.text} left</span>}
    </span>
  );
}

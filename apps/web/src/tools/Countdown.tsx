import { useEffect, useState } from "react";
import { remaining } from "./countdown";

interface Props {
  requestedAt: string;
  expiresAt: string;
}

const CIRCUMFERENCE = 2 * Math.PI * 7;

/** Time left to decide. Not a live region: a screen reader should not count aloud. */
export function Countdown({ requestedAt, expiresAt }: Props) {
  const [now, setNow] = useState(Date.now);
  const left = remaining(expiresAt, now);
  const isOver = left?.isOver ?? true;

  useEffect(() => {
    if (isOver) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isOver]);

  if (left === undefined) return null;
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
      {left.isOver ? "expired" : <span>{left.text} left</span>}
    </span>
  );
}

/** The time left until a deadline. */
export interface Remaining {
  ms: number;
  /** `4:59`, `0:07`, `1:00:00`. */
  text: string;
  isOver: boolean;
  isUrgent: boolean;
}

const URGENT_MS = 30_000;

export function remaining(expiresAt: string, now: number): Remaining | undefined {
  const end = Date.parse(expiresAt);
  if (Number.isNaN(end)) return undefined;
  const ms = Math.max(0, end - now);
  const seconds = Math.ceil(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = String(seconds % 60).padStart(2, "0");
  const text = hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
  return { ms, text, isOver: ms === 0, isUrgent: ms <= URGENT_MS };
}

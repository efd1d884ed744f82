import type { Remember } from "holdpoint";

/** The choices of a person who wants an approval to be remembered. */
export interface RememberChoice {
  match: "input" | "tool";
  scope: "chat" | "subject";
  duration: Duration;
  /** How many calls, as typed; empty for any number. */
  uses: string;
}

export const DURATIONS = {
  hour: { text: "1 hour", ms: 3_600_000 },
  day: { text: "1 day", ms: 86_400_000 },
  week: { text: "7 days", ms: 7 * 86_400_000 },
  always: { text: "no end", ms: undefined },
} as const;

export type Duration = keyof typeof DURATIONS;

/** The narrowest. */
export const NARROWEST: RememberChoice = { match: "input", scope: "chat", duration: "hour", uses: "" };

/** What is sent, by the server's clock; `undefined` if the number is none. */
export function rememberOf({ match, scope, duration, uses }: RememberChoice, now: number): Remember | undefined {
  const { ms } = DURATIONS[duration];
  const count = uses.trim() === "" ? undefined : Number(uses);
  if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1 && count <= 1_000_000)) return undefined;
  return {
    scope,
    match,
    ...(ms !== undefined && { until: new Date(now + ms).toISOString() }),
    ...(count !== undefined && { uses: count }),
  };
}

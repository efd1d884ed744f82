import type { Remember } from "holdpoint/protocol";
import { visible } from "../text/runs";

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
  const count = countOf(uses);
  if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1 && count <= 1_000_000)) return undefined;
  return {
    scope,
    match,
    ...(ms !== undefined && { until: new Date(now + ms).toISOString() }),
    ...(count !== undefined && { uses: count }),
  };
}

function countOf(uses: string): number | undefined {
  return uses.trim() === "" ? undefined : Number(uses);
}

/** How much a grant lets through. */
export type Breadth = "narrow" | "wide" | "unlimited";

/**
 * `wide` is any input, or the same call for ever. `unlimited` is any input without an end in time or in number: nothing
 * that the tool can do will be asked about again.
 */
export function breadthOf({ match, duration, uses }: RememberChoice): Breadth {
  const isEndless = duration === "always" && uses.trim() === "";
  if (match === "tool") return isEndless ? "unlimited" : "wide";
  return isEndless ? "wide" : "narrow";
}

/** What will run without a question, in one sentence: which calls, where, how often, for how long. */
export function choiceText({ match, scope, duration, uses }: RememberChoice, owner: string): string {
  const count = countOf(uses);
  const often = count === undefined ? "any number of times" : count === 1 ? "once" : `${count} times at most`;
  const end = duration === "always" ? "without end" : `for ${DURATIONS[duration].text}`;
  return `${callsText(match, scope, owner)}, ${often}, ${end}.`;
}

/** The same of a grant that was made. */
export function grantText({ match = "input", scope, until, uses }: Remember, owner: string): string {
  const often = uses === undefined ? "any number of times" : uses === 1 ? "once" : `${uses} times at most`;
  const end = until === undefined ? "without end" : `until ${new Date(until).toLocaleString()}`;
  return `${callsText(match === "tool" ? "tool" : "input", scope, owner)}, ${often}, ${end}.`;
}

function callsText(match: "input" | "tool", scope: Remember["scope"], owner: string): string {
  const what = match === "tool" ? "Every call of this tool, with any input," : "The same call with this exact input";
  return `${what} runs without a question in ${scope === "chat" ? "this chat" : `every chat of ${visible(owner)}`}`;
}

import type { SettledDecision } from "holdpoint";
import { recorderOf } from "./recorder";

/** Makes a decision and records when it was sent and when it was in force: only the latter counts. */
export async function markDecision(
  chatId: string,
  decision: { approvalId: string; approved: boolean },
  decide: () => Promise<SettledDecision>,
): Promise<void> {
  const recorder = recorderOf(chatId);
  recorder.mark({ type: "sent", ...decision });
  const { state } = await decide();
  if (state === "in-force") recorder.mark({ type: "decided", ...decision });
}

import { HoldpointError } from "holdpoint";
import type { Violation } from "holdpoint/protocol";
import { useEffect, useState } from "react";
import { currentClient } from "../api/server";
import { MODE_INFO } from "../modes";
import { profileOf, serialise } from "./capture";
import { isReceived, type Recording } from "./entry";
import { checkable, isWhole, type Turn } from "./turns";

export type Verdict =
  | { state: "checking" }
  | { state: "unavailable" }
  | { state: "partial" }
  | { state: "open" }
  | { state: "mixed" }
  | { state: "failed"; error: string }
  | { state: "checked"; profile: string; violations: Violation[]; flagged: ReadonlyMap<number, string> };

/** Runs the server's rule checker on a turn, once it has been quiet for a moment. */
export function useVerdict(turn: Turn | undefined): Verdict | undefined {
  const [verdict, setVerdict] = useState<Verdict>();

  useEffect(() => {
    if (turn === undefined) {
      setVerdict(undefined);
      return;
    }
    const recording = checkable(turn.recording);
    if (turn.isCut || !isWhole(recording)) {
      setVerdict({ state: "partial" });
      return;
    }
    if (new Set(recording.segments.map(({ mode }) => MODE_INFO[mode].profile)).size > 1) {
      setVerdict({ state: "mixed" });
      return;
    }
    // A response that is still open would violate rules that its end satisfies.
    if (recording.entries.findLast(isReceived)?.kind !== "done") {
      setVerdict({ state: "open" });
      return;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      check(recording, controller.signal)
        .then(setVerdict)
        .catch((error: unknown) => {
          if (!controller.signal.aborted)
            setVerdict({ state: "failed", error: error instanceof Error ? error.message : String(error) });
        });
    }, 300);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [turn]);

  return verdict;
}

/** A server without the checker is asked once, not after every turn. */
let isAvailable = true;

async function check(recording: Recording, signal: AbortSignal): Promise<Verdict> {
  if (!isAvailable) return { state: "unavailable" };
  const capture = serialise(recording);
  const profile = profileOf(recording);
  const text = profile === "ai-sdk" ? undefined : "progressive";
  let violations: Violation[];
  try {
    violations = await currentClient().check(capture.text, { profile, text, signal });
  } catch (error) {
    if (!(error instanceof HoldpointError) || error.status !== 404) throw error;
    isAvailable = false;
    return { state: "unavailable" };
  }
  const flagged = new Map<number, string>();
  for (const { line, rule, text } of violations) {
    const entry = capture.entryAtLine.get(line);
    if (entry !== undefined) flagged.set(entry, [flagged.get(entry), `${rule}: ${text}`].filter(Boolean).join("\n"));
  }
  return { state: "checked", profile, violations, flagged };
}

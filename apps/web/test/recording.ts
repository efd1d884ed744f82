import type { UIMessageChunk } from "ai";
import { vi } from "vitest";
import type { Recording } from "../src/inspector/entry";
import { Recorder } from "../src/inspector/recorder";
import type { Mode } from "../src/modes";

export type Step =
  | { at: number; begin: Mode }
  | { at: number; chunk: UIMessageChunk }
  | { at: number; text: string }
  | { at: number; decided: string; approved: boolean }
  | { at: number; browser: string };

/** A recording made of steps with their times. */
export function record(steps: readonly Step[]): Recording {
  vi.useFakeTimers();
  let now = 0;
  const recorder = new Recorder(() => now);
  let segment = 0;
  for (const step of steps) {
    now = step.at;
    if ("begin" in step) segment = recorder.begin(step.begin, "POST /stream");
    else if ("chunk" in step) recorder.payload(segment, JSON.stringify(step.chunk));
    else if ("text" in step) recorder.payload(segment, step.text);
    else if ("decided" in step) recorder.mark({ type: "decided", approvalId: step.decided, approved: step.approved });
    else recorder.mark({ type: "browser-start", toolCallId: step.browser });
  }
  vi.runAllTimers();
  vi.useRealTimers();
  return recorder.read();
}

/** A payment over SSE: asked at 100, approved at 5100, paid at 5150, told until 5300. */
export const PAYMENT: readonly Step[] = [
  { at: 0, begin: "sse" },
  { at: 40, chunk: { type: "start", messageId: "m1" } },
  { at: 100, chunk: { type: "tool-input-start", toolCallId: "c1", toolName: "pay" } },
  { at: 100, chunk: { type: "tool-input-available", toolCallId: "c1", toolName: "pay", input: { amount: 5 } } },
  { at: 100, chunk: { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" } },
  { at: 110, chunk: { type: "finish", finishReason: "stop" } },
  { at: 110, text: "[DONE]" },
  { at: 5100, decided: "a1", approved: true },
  { at: 5100, begin: "sse" },
  { at: 5110, chunk: { type: "start", messageId: "m1" } },
  { at: 5150, chunk: { type: "tool-output-available", toolCallId: "c1", output: { ok: true } } },
  { at: 5200, chunk: { type: "text-start", id: "t" } },
  { at: 5300, chunk: { type: "text-delta", id: "t", delta: "Paid: ¥5\n" } },
  { at: 5300, chunk: { type: "text-end", id: "t" } },
  { at: 5300, chunk: { type: "finish", finishReason: "stop" } },
  { at: 5300, text: "[DONE]" },
];

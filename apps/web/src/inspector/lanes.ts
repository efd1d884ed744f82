import { ASK_USER } from "../prompt/prompt";
import { type Entry, isReceived, type Recording } from "./entry";

export const LANES = ["model", "server", "human", "browser"] as const;

export type Lane = (typeof LANES)[number];

export interface Span {
  lane: Lane;
  from: number;
  to: number;
  label: string;
  /** Still waiting: it ends at the current time. */
  isOpen: boolean;
}

/** Whether a tool runs in the browser; everything else runs on the server. */
export type RunsInBrowser = (toolName: string) => boolean;

interface Call {
  name: string;
  approvalId?: string;
  /** When the call was announced: from here on the model waits. */
  from: number;
  askedAt?: number;
  /** When a decision was sent from this page. It counts only if it is in force. */
  sentAt?: number;
  decidedAt?: number;
  startedAt?: number;
  endedAt?: number;
  isDenied?: boolean;
}

/** Who was working, and who was waited for, from the chunks and the marks between them. */
export function spansOf(recording: Recording, runsInBrowser: RunsInBrowser, now: number): Span[] {
  const calls = collectCalls(recording.entries);
  const isOver = isFinished(recording.entries);
  const end = isOver ? (recording.entries.at(-1)?.at ?? now) : now;
  const spans: Span[] = [];
  for (const call of calls.values()) spans.push(...spansOfCall(call, runsInBrowser(call.name), isOver, end));
  const waits = [...calls.values()].map((call) => ({ from: call.from, to: call.endedAt ?? end }));
  for (const window of windowsOf(recording, isOver, now)) {
    for (const { from, to } of subtract(window, waits)) {
      spans.push({ lane: "model", from, to, label: "model", isOpen: window.isOpen && to === window.to });
    }
  }
  return spans.sort((a, b) => a.from - b.from || a.to - b.to);
}

function collectCalls(entries: readonly Entry[]): Map<string, Call> {
  const calls = new Map<string, Call>();
  const byApproval = new Map<string, Call>();
  for (const entry of entries) {
    const { at } = entry;
    if (entry.kind === "mark") {
      if (entry.mark.type === "sent") {
        const call = byApproval.get(entry.mark.approvalId);
        if (call) call.sentAt = at;
      } else if (entry.mark.type === "decided") {
        const call = byApproval.get(entry.mark.approvalId);
        if (call) {
          // The person was waited for until then; the rest is the request to the server.
          call.decidedAt ??= call.sentAt ?? at;
          call.isDenied = !entry.mark.approved;
        }
      } else if (entry.mark.type === "browser-start") {
        const call = calls.get(entry.mark.toolCallId);
        if (call) call.startedAt ??= at;
      }
      continue;
    }
    if (entry.kind !== "chunk") continue;
    const { chunk } = entry;
    switch (chunk.type) {
      case "tool-input-available":
      case "tool-input-error":
        if (!calls.has(chunk.toolCallId)) calls.set(chunk.toolCallId, { name: chunk.toolName, from: at });
        if (chunk.type === "tool-input-error") settle(calls.get(chunk.toolCallId), at);
        break;
      case "tool-approval-request": {
        const call = calls.get(chunk.toolCallId);
        if (call) {
          call.approvalId = chunk.approvalId;
          call.askedAt ??= at;
          byApproval.set(chunk.approvalId, call);
        }
        break;
      }
      case "tool-output-available":
        if (chunk.preliminary !== true) settle(calls.get(chunk.toolCallId), at);
        break;
      case "tool-output-error":
      case "tool-output-denied":
        settle(calls.get(chunk.toolCallId), at);
        break;
      default:
        break;
    }
  }
  return calls;
}

function settle(call: Call | undefined, at: number): void {
  if (call) call.endedAt ??= at;
}

function spansOfCall(call: Call, inBrowser: boolean, isOver: boolean, end: number): Span[] {
  const to = call.endedAt ?? end;
  const isOpen = call.endedAt === undefined && !isOver;
  // The browser shows a tool's prompt, but the person is waited for.
  const runner: Lane = call.name === ASK_USER ? "human" : inBrowser ? "browser" : "server";
  if (call.askedAt === undefined) return [{ lane: runner, from: call.from, to, label: call.name, isOpen }];
  // Decided in another tab at an unknown time, so the wait lasts until the outcome.
  const decidedAt = call.decidedAt ?? to;
  const spans: Span[] = [
    {
      lane: "human",
      from: call.askedAt,
      to: decidedAt,
      label: call.name,
      isOpen: isOpen && call.decidedAt === undefined,
    },
  ];
  if (call.decidedAt !== undefined && call.isDenied !== true) {
    spans.push({ lane: runner, from: call.startedAt ?? decidedAt, to, label: call.name, isOpen });
  }
  return spans;
}

interface Window {
  from: number;
  to: number;
  isOpen: boolean;
}

/** The times with an open response: only then can the model be working. */
function windowsOf(recording: Recording, isOver: boolean, now: number): Window[] {
  // What was open when the page was left has no end here.
  const reloaded =
    recording.entries.findLast((entry) => entry.kind === "mark" && entry.mark.type === "reload")?.index ?? -1;
  return recording.segments.flatMap((segment, index) => {
    const entries = recording.entries.filter((entry) => entry.segment === segment.number && isReceived(entry));
    const last = entries.at(-1);
    const isLost = last !== undefined && last.index < reloaded;
    const isLast = index === recording.segments.length - 1;
    const isOpen = isLast && !isOver && !isLost && last?.kind !== "done";
    const to = isOpen ? now : last?.at;
    return to === undefined || to < segment.startedAt ? [] : [{ from: segment.startedAt, to, isOpen }];
  });
}

function subtract(window: Window, waits: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  let rest = [{ from: window.from, to: window.to }];
  for (const wait of waits) {
    rest = rest.flatMap(({ from, to }) => {
      if (wait.to <= from || wait.from >= to) return [{ from, to }];
      return [
        { from, to: wait.from },
        { from: wait.to, to },
      ].filter((piece) => piece.to > piece.from);
    });
  }
  return rest;
}

/** A message that waits for a person has finished its response but not its turn. */
function isFinished(entries: readonly Entry[]): boolean {
  const open = new Set<string>();
  let hasEnded = false;
  for (const entry of entries) {
    if (entry.kind === "done") hasEnded = true;
    if (entry.kind !== "chunk") continue;
    const { chunk } = entry;
    if (chunk.type === "start") hasEnded = false;
    else if (chunk.type === "tool-input-available") open.add(chunk.toolCallId);
    else if (/^tool-(output-|input-error)/.test(chunk.type) && "toolCallId" in chunk) open.delete(chunk.toolCallId);
  }
  return hasEnded && open.size === 0;
}

/** How long each lane was busy. Overlaps count once. */
export function totals(spans: readonly Span[]): Record<Lane, number> {
  const result: Record<Lane, number> = { model: 0, server: 0, human: 0, browser: 0 };
  for (const lane of LANES) {
    let reached = Number.NEGATIVE_INFINITY;
    for (const span of spans.filter((candidate) => candidate.lane === lane)) {
      result[lane] += Math.max(0, span.to - Math.max(span.from, reached));
      reached = Math.max(reached, span.to);
    }
  }
  return result;
}

/**
 * Maps a time to the timeline, 0 to 1. A person's minutes would dwarf a model's milliseconds: so the width of each
 * interval between two events is the square root of its length.
 */
export function scaleOf(spans: readonly Span[]): (at: number) => number {
  const times = [...new Set(spans.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const widths = times.map((time, index) =>
    index === 0 ? 0 : Math.sqrt(Math.max(1, time - (times[index - 1] ?? time))),
  );
  const total = widths.reduce((sum, width) => sum + width, 0) || 1;
  const place = new Map<number, number>();
  let reached = 0;
  for (const [index, time] of times.entries()) {
    reached += widths[index] ?? 0;
    place.set(time, reached / total);
  }
  return (at) => place.get(at) ?? 0;
}

/** `840 ms`, `12.3 s`, `4 min 05 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

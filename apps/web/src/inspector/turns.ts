import type { Entry, Recording } from "./entry";

/** The segments that write one assistant message. */
export interface Turn {
  messageId: string | undefined;
  recording: Recording;
  /** False where the first thing recorded continues a message that began before the recording did. */
  isWhole: boolean;
}

/** Segments that begin with the same message id belong to the same turn. */
export function turnsOf(recording: Recording): Turn[] {
  const turns: { messageId: string | undefined; segments: Set<number> }[] = [];
  for (const { number } of recording.segments) {
    const entries = recording.entries.filter((entry) => entry.segment === number && entry.kind !== "mark");
    if (entries.length === 0) continue;
    const messageId = startOf(entries);
    const known = messageId === undefined ? undefined : turns.find((turn) => turn.messageId === messageId);
    if (known) known.segments.add(number);
    else turns.push({ messageId, segments: new Set([number]) });
  }
  return turns.map(({ messageId, segments }) => {
    const entries = recording.entries.filter((entry) => segments.has(entry.segment));
    return {
      messageId,
      recording: { entries, segments: recording.segments.filter(({ number }) => segments.has(number)) },
      isWhole: isWhole(entries),
    };
  });
}

function startOf(entries: readonly Entry[]): string | undefined {
  for (const entry of entries) {
    if (entry.kind === "chunk" && entry.chunk.type === "start") return entry.chunk.messageId;
  }
  return undefined;
}

function isWhole(entries: readonly Entry[]): boolean {
  const announced = new Set<string>();
  for (const entry of entries) {
    if (entry.kind !== "chunk" || !("toolCallId" in entry.chunk)) continue;
    if (entry.chunk.type === "tool-input-start" || entry.chunk.type === "tool-input-available") {
      announced.add(entry.chunk.toolCallId);
    } else if (!announced.has(entry.chunk.toolCallId)) {
      return false;
    }
  }
  return true;
}

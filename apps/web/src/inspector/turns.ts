import { profileOf } from "./capture";
import { type Entry, isReceived, isReplay, type Recording } from "./entry";

/** The segments that write one assistant message. */
export interface Turn {
  messageId: string | undefined;
  recording: Recording;
  /** Its beginning was dropped, and no replay has it. */
  isCut: boolean;
}

/**
 * Segments that write the same message belong to the same turn. One that has received nothing belongs to the turn
 * before, or else to the next: its request may have been refused, the answer is still to come, or the page was left
 * before it began.
 */
export function turnsOf(recording: Recording): Turn[] {
  const bySegment = new Map<number, Entry[]>(recording.segments.map(({ number }) => [number, []]));
  for (const entry of recording.entries) if (entry.kind !== "mark") bySegment.get(entry.segment)?.push(entry);
  const turns: { messageId: string | undefined; segments: Set<number> }[] = [];
  let unanswered: number[] = [];
  for (const { number, messageId } of recording.segments) {
    const entries = bySegment.get(number) ?? [];
    if (entries.length === 0) continue;
    // A comment keeps a connection alive, and says nothing.
    if (!entries.some((entry) => isReceived(entry) && entry.kind !== "comment")) {
      const before = turns.at(-1);
      if (before) before.segments.add(number);
      else unanswered.push(number);
      continue;
    }
    const known = messageId !== undefined && turns.find((turn) => turn.messageId === messageId);
    if (known) known.segments.add(number);
    else turns.push({ messageId, segments: new Set([...unanswered, number]) });
    unanswered = [];
  }
  if (unanswered.length > 0) turns.push({ messageId: undefined, segments: new Set(unanswered) });
  const oldest = recording.entries[0]?.segment;
  return turns.map(({ messageId, segments }) => {
    const entries = recording.entries.filter((entry) => segments.has(entry.segment));
    const own = recording.segments.filter(({ number }) => segments.has(number));
    const isReplayed = own.some((segment) => isReplay(segment) && segment.number !== oldest);
    return {
      messageId,
      recording: { entries, segments: own, dropped: 0 },
      isCut: recording.dropped > 0 && oldest !== undefined && segments.has(oldest) && !isReplayed,
    };
  });
}

/**
 * The part of a recording that the checker can follow as one conversation. A replay sends its message again, so
 * anything before it is a duplicate; and of a chat that changed its mode, only the last profile is kept.
 */
export function checkable(recording: Recording): Recording {
  const turns = turnsOf(recording).map((turn) => sinceReplay(answered(turn.recording)));
  const last = turns.findLast(({ segments }) => segments.length > 0);
  if (last === undefined) return recording;
  const kept = turns.filter((turn) => turn.segments.length > 0 && profileOf(turn) === profileOf(last));
  return {
    entries: kept.flatMap(({ entries }) => entries).sort((a, b) => a.index - b.index),
    segments: kept.flatMap(({ segments }) => segments),
    dropped: 0,
  };
}

/** The recording without segments that have received nothing. */
function answered({ entries, segments, dropped }: Recording): Recording {
  const numbers = new Set(entries.filter(isReceived).map(({ segment }) => segment));
  return {
    entries: entries.filter(({ segment, kind }) => kind === "mark" || numbers.has(segment)),
    segments: segments.filter(({ number }) => numbers.has(number)),
    dropped,
  };
}

function sinceReplay({ entries, segments, dropped }: Recording): Recording {
  const from = segments.findLastIndex(isReplay);
  const kept = segments.slice(Math.max(0, from));
  const numbers = new Set(kept.map(({ number }) => number));
  return {
    entries: entries.filter(({ segment, kind }) => kind === "mark" || numbers.has(segment)),
    segments: kept,
    dropped,
  };
}

/** False if the recording starts in the middle of a message. */
export function isWhole({ entries }: Recording): boolean {
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

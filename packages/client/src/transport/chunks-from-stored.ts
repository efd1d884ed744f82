import type { Chunk, ToolPart, UiMessage } from "../protocol.js";
import { nameOfTool, toolPartOf } from "../tools/tool-part.js";
import type { KnownMessage } from "./known-message.js";

/** Whether a stored message is complete: all of its calls are settled. */
export function isSettledMessage(message: UiMessage): boolean {
  return message.parts.every((part) => toolPartOf(part)?.state.startsWith("output-") ?? true);
}

/**
 * The parts of a stored message that are not known yet, as the chunks that would have streamed them. Ends with
 * `finish`.
 */
export function chunksFromStored(known: KnownMessage, message: UiMessage): Chunk[] {
  known.startReplay();
  const counts = { text: 0, reasoning: 0 };
  const chunks = message.parts.flatMap((part): Chunk[] => {
    if (part.type === "text" || part.type === "reasoning") {
      const n = counts[part.type]++;
      return known.newChunksOfBlock(part.type, n, part.text, `stored-${n}`);
    }
    const tool = toolPartOf(part);
    if (tool !== undefined) return chunksOf(tool).flatMap((chunk) => known.newChunks(chunk));
    // Sources, files and data have the same form in a message and in a stream.
    return part.type === "step-start" ? [] : known.newChunks(part as Chunk);
  });
  const { metadata: messageMetadata } = message;
  return [...chunks, { type: "finish", ...(messageMetadata !== undefined && { messageMetadata }) }];
}

/** A call's chunks. A settled call omits `tool-input-available`, which would make a client run it. */
function chunksOf(tool: ToolPart): Chunk[] {
  const { toolCallId, input, title } = tool;
  const isDynamic = tool.type === "dynamic-tool";
  const names = {
    toolCallId,
    toolName: nameOfTool(tool),
    ...(isDynamic && { dynamic: true }),
    ...(title !== undefined && { title }),
  };
  const outcome = outcomeOf(tool);
  const begun: Chunk = { type: "tool-input-start", ...names };
  if (outcome === undefined) return [begun, { type: "tool-input-available", ...names, input }];
  return [begun, { type: "tool-input-delta", toolCallId, inputTextDelta: JSON.stringify(input ?? {}) }, outcome];
}

/**
 * The outcome in the form of `/live`: there a denied call ends in an error, in the stored message in a state of its
 * own.
 */
function outcomeOf({ state, toolCallId, output, errorText, approval }: ToolPart): Chunk | undefined {
  if (state === "output-available") return { type: "tool-output-available", toolCallId, output };
  const because = approval?.reason === undefined ? "" : `: ${approval.reason}`;
  if (state === "output-denied") {
    return { type: "tool-output-error", toolCallId, errorText: `User denied the tool call${because}` };
  }
  if (state !== "output-error") return undefined;
  return { type: "tool-output-error", toolCallId, errorText: errorText ?? "The tool failed." };
}

import type { Chunk, ToolCallId } from "../protocol.js";
import { toolPartOf } from "./tool-part.js";

/** The inputs that approvers have put in place of the model's, by call. */
export type EditedInputs = Readonly<Record<ToolCallId, unknown>>;

const EDITED_INPUT = "data-holdpoint-input";

/**
 * An edited input, as the server sends it where the call can't be announced once more: on `/live`, and in the response
 * that has announced the call. The SDK does not know it, so it has to be written into the part of the call.
 */
export function editedInputOf(chunk: { type: string }): { toolCallId: ToolCallId; input: unknown } | undefined {
  if (chunk.type !== EDITED_INPUT) return undefined;
  const { data } = chunk as { data?: unknown };
  if (typeof data !== "object" || data === null || !("toolCallId" in data) || !("input" in data)) return undefined;
  const { toolCallId, input } = data;
  return typeof toolCallId === "string" ? { toolCallId, input } : undefined;
}

/** The chunk for an edited input. */
export function editedInputChunk(toolCallId: ToolCallId, input: unknown): Chunk {
  return { type: EDITED_INPUT, data: { toolCallId, input }, transient: true };
}

/** The messages with the edited inputs in the parts of their calls. What has them already keeps its identity. */
export function withEditedInputs<MESSAGE extends { parts: readonly unknown[] }>(
  messages: MESSAGE[],
  edited: EditedInputs,
): MESSAGE[] {
  const changed = messages.map((message): MESSAGE => {
    const parts = message.parts.map((part) => {
      const tool = toolPartOf(part);
      if (tool === undefined || !Object.hasOwn(edited, tool.toolCallId)) return part;
      const input = edited[tool.toolCallId];
      return isSameJson(tool.input, input) ? part : { ...tool, input };
    });
    return parts.every((part, at) => part === message.parts[at]) ? message : { ...message, parts };
  });
  return changed.every((message, at) => message === messages[at]) ? messages : changed;
}

/** Whether two values are the same in JSON. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

import type { ToolPart, ToolState } from "../protocol.js";

const STATES: ReadonlySet<unknown> = new Set<ToolState>([
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
]);

/**
 * The part as a tool call, if it is a complete one. It may be anything: a client can hold data that another version or
 * program stored. The SDK's own type guard would tie this to one version of the SDK's types.
 */
export function toolPartOf(part: unknown): ToolPart | undefined {
  if (typeof part !== "object" || part === null) return undefined;
  const { type, state, toolCallId, toolName } = part as Partial<Record<string, unknown>>;
  if (typeof type !== "string" || typeof toolCallId !== "string" || !STATES.has(state)) return undefined;
  const isTool = type === "dynamic-tool" ? typeof toolName === "string" : type.startsWith("tool-");
  return isTool ? (part as ToolPart) : undefined;
}

/** The tool calls of a message, in order. */
export function toolPartsOf(message: { parts?: unknown } | null | undefined): ToolPart[] {
  const parts = message?.parts;
  return Array.isArray(parts) ? parts.map(toolPartOf).filter((tool) => tool !== undefined) : [];
}

/** Whether a call has an outcome. A preliminary output is the progress of a running tool. */
export function isSettled({ state, preliminary }: ToolPart): boolean {
  return (
    (state === "output-available" && preliminary !== true) || state === "output-error" || state === "output-denied"
  );
}

/** The name of a call's tool. */
export function nameOfTool(part: ToolPart): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
}

import type { ToolPart } from "../protocol.js";

/** The part as a tool call, if it is one. The SDK's own test would tie this to one version of the SDK's types. */
export function toolPartOf(part: { type: string }): ToolPart | undefined {
  const isTool = part.type.startsWith("tool-") || part.type === "dynamic-tool";
  return isTool && "state" in part ? (part as ToolPart) : undefined;
}

/** The name of a call's tool. */
export function nameOfTool(part: ToolPart): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
}

import type { UIMessage } from "ai";

/** The text parts of a message. */
export function textOf(message: UIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

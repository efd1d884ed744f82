import type { UIMessage } from "ai";

/** The text of a message, without what is not text. */
export function textOf(message: UIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

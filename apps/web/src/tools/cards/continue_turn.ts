import { Gauge } from "lucide-react";
import { isObject } from "../../prompt/isObject";
import type { CardEntry } from "../cardEntry";

/** The question whether to go on when the token budget is used up. The server asks it, not the assistant. */
export default {
  tool: "continue_turn",
  icon: Gauge,
  headline: (input) => {
    if (!isObject(input) || typeof input.more !== "number") return undefined;
    return `Go on, with ${input.more} more tokens for this ${input.scope === "chat" ? "chat" : "answer"}?`;
  },
  question: "The token budget is used up.",
  isUntold: true,
} satisfies CardEntry;

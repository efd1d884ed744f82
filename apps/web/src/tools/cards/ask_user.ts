import { askUser } from "holdpoint";
import { MessageCircleQuestionMark } from "lucide-react";
import { promptInCard } from "../../prompt/openPrompts";
import { PromptCard } from "../../prompt/PromptCard";
import { ASK_USER } from "../../prompt/prompt";
import type { CardEntry } from "../cardEntry";

/** A prompt of a running tool. */
export default {
  tool: ASK_USER,
  icon: MessageCircleQuestionMark,
  whole: PromptCard,
  handler: askUser({ prompt: promptInCard }),
} satisfies CardEntry;

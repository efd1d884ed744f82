import { Wrench } from "lucide-react";
import type { CardEntry } from "./cardEntry";

const files = import.meta.glob<CardEntry>("./cards/*.{ts,tsx}", { eager: true, import: "default" });

export const TOOL_CARDS: ReadonlyMap<string, CardEntry> = byTool(Object.values(files));

/** The card of a tool. Unknown tools have a plain one. */
export function cardOf(tool: string): CardEntry {
  return TOOL_CARDS.get(tool) ?? { tool, icon: Wrench };
}

export function byTool(cards: readonly CardEntry[]): ReadonlyMap<string, CardEntry> {
  const found = new Map<string, CardEntry>();
  for (const card of cards) {
    if (found.has(card.tool)) throw new Error(`Two files have a card for ${card.tool}.`);
    found.set(card.tool, card);
  }
  return found;
}

import { topLayerStore } from "../shell/layer";

/** What a key does in the inbox. */
export const KEYS = [
  { key: "j", shown: "J", action: "next", text: "Next request" },
  { key: "k", shown: "K", action: "previous", text: "Previous request" },
  { key: "Enter", shown: "Enter", action: "open", text: "Open the request" },
  { key: "Escape", shown: "Esc", action: "back", text: "Back to the list" },
  { key: "a", shown: "A", action: "approve", text: "Approve, if all of it was in view" },
  { key: "d", shown: "D", action: "deny", text: "Deny, with a reason" },
  { key: "e", shown: "E", action: "edit", text: "Edit the input, then approve" },
  { key: "r", shown: "R", action: "answer", text: "Answer in the tool's place" },
  { key: "x", shown: "X", action: "select", text: "Select it, for a decision about several" },
  { key: "?", shown: "?", action: "help", text: "Show these keys" },
] as const;

export type KeyAction = (typeof KEYS)[number]["action"];

/** Held down, these may repeat. A decision never does: the next request would get it too. */
const REPEATABLE: readonly KeyAction[] = ["next", "previous"];

type Press = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "repeat" | "isComposing">;

/** The action of a key, whatever is focused. `?` needs the shift key on most keyboards; nothing else may have one. */
export function actionOf(press: Press): KeyAction | undefined {
  const { key, ctrlKey, metaKey, altKey, shiftKey, repeat, isComposing } = press;
  if (ctrlKey || metaKey || altKey || isComposing || (shiftKey && key !== "?")) return undefined;
  // With caps lock a letter is a capital.
  const name = key.length === 1 ? key.toLowerCase() : key;
  const action = KEYS.find((each) => each.key === name)?.action;
  return action !== undefined && repeat && !REPEATABLE.includes(action) ? undefined : action;
}

/** The action of an event in the page: none while somebody types, or while a dialog covers the page. */
export function actionOfEvent(event: KeyboardEvent): KeyAction | undefined {
  if (event.defaultPrevented || topLayerStore.read() > 0) return undefined;
  const target = event.target instanceof Element ? event.target : undefined;
  if (target?.closest("input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=menu]"))
    return undefined;
  const action = actionOf(event);
  // Enter belongs to a focused button or link.
  const isPressable = target?.closest("button, a, summary, input, [role=tab]") != null;
  return action === "open" && isPressable ? undefined : action;
}

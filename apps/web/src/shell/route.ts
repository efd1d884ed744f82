import { createIdGenerator } from "ai";
import { isMode, type Mode } from "../modes";
import { createStore } from "../store";

export const DOCKS = ["approvals", "pages", "inspector"] as const;

export type DockTab = (typeof DOCKS)[number];

/** The console's location, in the URL's hash, so that a reload, a bookmark and another tab restore it. */
export interface Route {
  chatId: string;
  /** The server does not have this chat yet, and it is not in the URL. */
  isNew: boolean;
  mode: Mode;
  dock: DockTab | undefined;
}

const newId = createIdGenerator({ prefix: "chat", separator: "_", size: 16 });

export function parseRoute(hash: string): Omit<Route, "isNew" | "chatId"> & { chatId: string | undefined } {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const mode = fields.get("mode");
  const dock = fields.get("dock");
  return {
    chatId: fields.get("chat") || undefined,
    mode: isMode(mode) ? mode : "sse",
    dock: DOCKS.find((name) => name === dock),
  };
}

export function formatRoute({ chatId, isNew, mode, dock }: Route): string {
  const fields = new URLSearchParams();
  if (!isNew) fields.set("chat", chatId);
  fields.set("mode", mode);
  if (dock) fields.set("dock", dock);
  return `#${fields}`;
}

function readHash(): Route {
  const { chatId, ...rest } = parseRoute(location.hash);
  return chatId === undefined ? { ...rest, chatId: newId(), isNew: true } : { ...rest, chatId, isNew: false };
}

export const routeStore = createStore<Route>(readHash());

export function navigate(change: Partial<Route>): void {
  const before = routeStore.read();
  const route = { ...before, ...change };
  const isOtherChat = route.chatId !== before.chatId;
  routeStore.write(route);
  const hash = formatRoute(route);
  if (hash === location.hash) return;
  // Back goes to the previous chat, not through every panel.
  if (isOtherChat) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

export function newChat(): void {
  navigate({ chatId: newId(), isNew: true });
}

window.addEventListener("hashchange", () => routeStore.write(readHash()));

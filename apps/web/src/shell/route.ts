import type { ApprovalsFilter } from "holdpoint";
import { isMode, type Mode } from "../modes";
import { createStore } from "../store";

export const DOCKS = ["approvals", "pages", "inspector"] as const;

export type DockTab = (typeof DOCKS)[number];

/** What the inbox lists, and in which order: the oldest first unless it says otherwise. */
export type InboxFilter = ApprovalsFilter & { order?: "newest" | undefined };

export const INBOX_VIEWS = ["waiting", "history", "grants"] as const;

export type InboxView = (typeof INBOX_VIEWS)[number];

/** What the page shows: it is the path of the URL. */
export type Place =
  | { kind: "chat" }
  /** `open` is the approval request that covers the list on a narrow screen. */
  | { kind: "inbox"; view: InboxView; filter: InboxFilter; open: string | undefined }
  /** One approval request, by a link to it. */
  | { kind: "hold"; approvalId: string }
  /** What the server consists of, for admins. */
  | { kind: "status" };

/** The console's location, in the URL's path and hash, so that a reload, a bookmark and another tab restore it. */
export interface Route {
  place: Place;
  chatId: string;
  /** The server does not have this chat yet, and it is not in the URL. */
  isNew: boolean;
  mode: Mode;
  dock: DockTab | undefined;
}

type Parsed = Omit<Route, "isNew" | "chatId"> & { chatId: string | undefined };

export const STATUS: Place = { kind: "status" };

export const INBOX: Place & { kind: "inbox" } = { kind: "inbox", view: "waiting", filter: {}, open: undefined };

/** Nobody can guess the id of a chat. */
const newId = () => `chat_${crypto.getRandomValues(new BigUint64Array(2)).join("_")}`;

export function parseRoute({ pathname, hash }: Pick<Location, "pathname" | "hash">): Parsed {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const mode = fields.get("mode");
  const dock = fields.get("dock");
  const place = placeOf(pathname, fields);
  return {
    place,
    chatId: (place.kind === "chat" && fields.get("chat")) || undefined,
    mode: isMode(mode) ? mode : "sse",
    dock: DOCKS.find((name) => name === dock),
  };
}

function placeOf(pathname: string, fields: URLSearchParams): Place {
  const [, first, second = ""] = pathname.split("/");
  if (first === "hold" && second !== "") return { kind: "hold", approvalId: decoded(second) };
  if (first === "status") return STATUS;
  if (first !== "inbox") return { kind: "chat" };
  const filter = {
    tool: fields.get("tool") || undefined,
    chat: fields.get("chat") || undefined,
    requestedBy: fields.get("by") || undefined,
    q: fields.get("q") || undefined,
    order: fields.get("order") === "newest" ? ("newest" as const) : undefined,
  };
  const view = INBOX_VIEWS.find((name) => name === second) ?? "waiting";
  return { kind: "inbox", view, filter, open: fields.get("open") || undefined };
}

/** A path that somebody typed need not be well encoded. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The path and the hash. */
export function formatRoute({ place, chatId, isNew, mode, dock }: Route): string {
  const fields = new URLSearchParams();
  if (place.kind === "status") return "/status";
  if (place.kind === "hold") return `/hold/${encodeURIComponent(place.approvalId)}`;
  if (place.kind === "inbox") {
    const { view, filter, open } = place;
    const { tool, chat, requestedBy: by, q, order } = filter;
    for (const [name, value] of Object.entries({ tool, chat, by, q, order, open }))
      if (value !== undefined && value !== "") fields.set(name, value);
    return `/inbox${view === "waiting" ? "" : `/${view}`}${fields.size > 0 ? `#${fields}` : ""}`;
  }
  if (!isNew) fields.set("chat", chatId);
  fields.set("mode", mode);
  if (dock) fields.set("dock", dock);
  return `/#${fields}`;
}

function readLocation(before?: Route): Route {
  const { chatId, ...rest } = parseRoute(location);
  if (chatId !== undefined) return { ...rest, chatId, isNew: false };
  // A chat that nothing was sent to has no URL: the page still has it, with what was typed.
  if (before !== undefined && (before.isNew || rest.place.kind !== "chat"))
    return { ...rest, chatId: before.chatId, isNew: before.isNew };
  return { ...rest, chatId: newId(), isNew: true };
}

export const routeStore = createStore<Route>(readLocation());

/** Goes somewhere. A chat is a place, so choosing one leaves the inbox. */
export function navigate(change: Partial<Route>): void {
  const before = routeStore.read();
  const place = change.place ?? (change.chatId === undefined ? before.place : { kind: "chat" });
  const route: Route = { ...before, ...change, place };
  routeStore.write(route);
  const url = formatRoute(route);
  if (url === location.pathname + location.hash) return;
  // Back goes to the previous chat or place, not through every panel and filter.
  if (isOther(before, route)) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

function isOther(before: Route, after: Route): boolean {
  if (before.place.kind !== after.place.kind || before.chatId !== after.chatId) return true;
  if (before.place.kind === "hold" && after.place.kind === "hold")
    return before.place.approvalId !== after.place.approvalId;
  if (before.place.kind !== "inbox" || after.place.kind !== "inbox") return false;
  return (
    before.place.view !== after.place.view || (before.place.open === undefined) !== (after.place.open === undefined)
  );
}

/** Changes what the inbox shows; goes there if the page shows something else. */
export function navigateInbox(change: Partial<Omit<Place & { kind: "inbox" }, "kind">>): void {
  const { place } = routeStore.read();
  navigate({ place: { ...(place.kind === "inbox" ? place : INBOX), ...change } });
}

export function newChat(): void {
  navigate({ chatId: newId(), isNew: true });
}

for (const event of ["hashchange", "popstate"])
  window.addEventListener(event, () => routeStore.write((before) => readLocation(before)));

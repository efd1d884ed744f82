import { type HoldpointOptions, requestSettings } from "./options.js";

/** What a page needs to share something with the other tabs of its browser. */
export type Tabs = {
  locks: Pick<LockManager, "request">;
  /** Opens the channel with this name. */
  channel: (name: string) => Channel;
  /** Reports the page's life, until the returned function is called. */
  lifecycle: (page: PageListener) => () => void;
};

/** The subset of a `BroadcastChannel` used here. */
export type Channel = {
  postMessage: (message: unknown) => void;
  onmessage: ((event: MessageEvent) => void) | null;
  close: () => void;
};

/** Callbacks for the life of a page. */
export type PageListener = {
  /** It is about to be closed, frozen or put aside: from now on it may do nothing. */
  onLeave: () => void;
  /** It is back. Anything may have happened meanwhile. */
  onReturn: () => void;
  /** The user sees it. */
  onVisible: () => void;
};

/** Sharing in this browser; `undefined` outside of a page and where the browser has no locks, as without TLS. */
export function browserTabs(): Tabs | undefined {
  const { document, navigator, BroadcastChannel } = globalThis as Partial<typeof globalThis>;
  const locks = navigator?.locks as LockManager | undefined;
  if (document === undefined || locks === undefined || BroadcastChannel === undefined) return undefined;
  return { locks, channel: (name) => new BroadcastChannel(name), lifecycle };
}

function lifecycle({ onLeave, onReturn, onVisible }: PageListener): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  const onShow = ({ persisted }: PageTransitionEvent) => {
    if (persisted) onReturn();
  };
  const onVisibility = () => {
    if (document.visibilityState === "visible") onVisible();
  };
  window.addEventListener("pagehide", onLeave, { signal });
  window.addEventListener("pageshow", onShow, { signal });
  document.addEventListener("freeze", onLeave, { signal });
  document.addEventListener("resume", onReturn, { signal });
  document.addEventListener("visibilitychange", onVisibility, { signal });
  return () => listening.abort();
}

/**
 * The name under which the tabs of one user share a server's events; `undefined` if this page must read its own. A
 * custom `fetch` may identify the user in a way that can't be compared.
 */
export async function sharedName(options: HoldpointOptions): Promise<string | undefined> {
  const { baseUrl = "", apiKey, headers, fetch, events } = options;
  const isComparable = fetch === undefined || apiKey !== undefined || headers !== undefined;
  if (events !== "browser" && (events === "page" || !isComparable)) return undefined;
  const settings = await requestSettings(options);
  const address = new URL(baseUrl, globalThis.location?.href).href.replace(/\/+$/, "");
  const identity = [address, settings.credentials, Object.entries(settings.headers).sort()];
  return `holdpoint-events-${fnv1a(JSON.stringify(identity))}`;
}

/** FNV-1a with 64 bits: a key does not belong in a name. */
function fnv1a(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(36);
}

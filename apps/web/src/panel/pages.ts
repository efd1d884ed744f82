import { navigate, routeStore } from "../shell/route";
import { createStore } from "../store";

/** How far a page got, as far as the browser reports it. */
export type PageState =
  | { kind: "loading" }
  /** Its frame has loaded something: the page, or the browser's refusal to frame it. The browser does not say which. */
  | { kind: "unconfirmed" }
  | { kind: "failed"; reason: string };

/** A page that the assistant opened. */
export interface Page {
  key: string;
  url: string;
  title?: string;
  state: PageState;
  /** How often it was loaded. */
  attempt: number;
}

interface Pages {
  stack: readonly Page[];
  current: string | undefined;
}

export const pagesStore = createStore<Pages>({ stack: [], current: undefined });

/** A frame that has loaded nothing by then never will: a download, an empty response, a silent server. */
const LOAD_MS = 20_000;

let opened = 0;

/**
 * Puts a page on top of the stack and shows it; the same URL is not stacked twice. Resolves when its frame has loaded
 * something, and throws if the page is known not to be shown. When the signal is aborted first, a page that was put there
 * for it is closed.
 */
export async function openPage({ url, title, signal }: { url: string; title?: string; signal?: AbortSignal }): Promise<{
  viewKey: string;
  state: "unconfirmed";
}> {
  const known = pagesStore.read().stack.find((page) => page.url === url);
  const key = known?.key ?? `view-${++opened}`;
  if (known === undefined) {
    const page: Page = { key, url, ...(title !== undefined && { title }), state: { kind: "loading" }, attempt: 1 };
    pagesStore.write(({ stack }) => ({ stack: [...stack, page], current: key }));
  } else showPage(key);
  if (routeStore.read().dock !== "pages") navigate({ dock: "pages" });
  if (known === undefined) void watchPage(key);
  else if (known.state.kind === "failed") reloadPage(key);
  const withdraw = () => {
    if (known === undefined) closePage(key);
  };
  signal?.addEventListener("abort", withdraw);
  const { state } = await settled(key);
  signal?.removeEventListener("abort", withdraw);
  if (state.kind === "failed") throw new Error(state.reason);
  return { viewKey: key, state: "unconfirmed" };
}

/** Reloads a page. */
export function reloadPage(key: string): void {
  const page = pageOf(key);
  if (page === undefined) return;
  change(key, { state: { kind: "loading" }, attempt: page.attempt + 1 });
  void watchPage(key);
}

/** Its frame has loaded something. */
export function frameLoaded(key: string): void {
  if (pageOf(key)?.state.kind === "loading") loaded.get(key)?.();
}

export function showPage(key: string): void {
  pagesStore.write((pages) => ({ ...pages, current: key }));
}

export function closePage(key: string): void {
  pagesStore.write(({ stack, current }) => {
    const rest = stack.filter((page) => page.key !== key);
    return { stack: rest, current: current === key ? rest.at(-1)?.key : current };
  });
}

/** Callbacks that wait for a frame's load event. */
const loaded = new Map<string, () => void>();

/**
 * Waits for the frame. It fires `load` for a page, a refusal and an unreachable address alike, and the console's CSP
 * forbids probing other origins. So a loaded page is never reported as confirmed.
 */
async function watchPage(key: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<PageState>();
  loaded.set(key, () => resolve({ kind: "unconfirmed" }));
  const timer = setTimeout(
    () => resolve({ kind: "failed", reason: `Nothing was loaded within ${LOAD_MS / 1000} seconds.` }),
    LOAD_MS,
  );
  const state = await promise;
  clearTimeout(timer);
  loaded.delete(key);
  change(key, { state });
}

/** Waits until it is known how far the page got, or the panel is closed. */
function settled(key: string): Promise<{ state: PageState }> {
  return new Promise((resolve) => {
    const look = () => {
      const page = pageOf(key);
      const isOpen = routeStore.read().dock !== undefined;
      if (page?.state.kind === "loading" && isOpen) return;
      for (const stop of unfollow) stop();
      if (page !== undefined && page.state.kind !== "loading") resolve({ state: page.state });
      else resolve({ state: { kind: "failed", reason: "The page was closed before it had loaded." } });
    };
    const unfollow = [pagesStore.subscribe(look), routeStore.subscribe(look)];
    look();
  });
}

function pageOf(key: string): Page | undefined {
  return pagesStore.read().stack.find((page) => page.key === key);
}

function change(key: string, changes: Partial<Page>): void {
  pagesStore.write((pages) => ({
    ...pages,
    stack: pages.stack.map((page) => (page.key === key ? { ...page, ...changes } : page)),
  }));
}

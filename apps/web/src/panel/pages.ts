import { navigate, routeStore } from "../shell/route";
import { createStore } from "../store";

/** One page that the assistant has opened. */
export interface Page {
  key: string;
  url: string;
  title?: string;
}

interface Pages {
  stack: readonly Page[];
  current: string | undefined;
}

export const pagesStore = createStore<Pages>({ stack: [], current: undefined });

let opened = 0;

/** Puts a page on top of the stack and shows it; the same address is not stacked twice. Returns the key of its view. */
export function openPage({ url, title }: { url: string; title?: string }): string {
  const known = pagesStore.read().stack.find((page) => page.url === url);
  const key = known?.key ?? `view-${++opened}`;
  pagesStore.write(({ stack }) => ({
    stack: known ? stack : [...stack, { key, url, ...(title !== undefined && { title }) }],
    current: key,
  }));
  if (routeStore.read().dock !== "pages") navigate({ dock: "pages" });
  return key;
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

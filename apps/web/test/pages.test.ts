// @vitest-environment jsdom

import { afterEach, expect, it } from "vitest";
import { closePage, frameLoaded, openPage, pagesStore } from "../src/panel/pages";

// Browsers have it; Node.js 20 does not.
Promise.withResolvers ??= <T>() => {
  let resolve: (value: T | PromiseLike<T>) => void = () => {};
  let reject: (reason?: unknown) => void = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  return { promise, resolve, reject };
};

const urls = () => pagesStore.read().stack.map(({ url }) => url);

afterEach(() => {
  for (const { key } of pagesStore.read().stack) closePage(key);
});

it("a page that has not loaded when its call is over is closed", async () => {
  const end = new AbortController();
  const opened = openPage({ url: "https://example.com/slow", signal: end.signal });
  expect(urls()).toEqual(["https://example.com/slow"]);
  end.abort();
  expect(urls()).toEqual([]);
  await expect(opened).rejects.toThrow("closed before it had loaded");
});

it("a page that has loaded stays when its call is over", async () => {
  const end = new AbortController();
  const opened = openPage({ url: "https://example.com/", signal: end.signal });
  const [page] = pagesStore.read().stack;
  frameLoaded(page?.key ?? "");
  await opened;
  end.abort();
  expect(urls()).toEqual(["https://example.com/"]);
});

it("a page that was open before stays when a later call for it is over", async () => {
  const first = openPage({ url: "https://example.com/" });
  const end = new AbortController();
  const second = openPage({ url: "https://example.com/", signal: end.signal });
  end.abort();
  expect(urls()).toEqual(["https://example.com/"]);
  frameLoaded(pagesStore.read().stack[0]?.key ?? "");
  await Promise.all([first, second]);
});

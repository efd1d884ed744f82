import type { ServerEvent } from "holdpoint";
import { createStore, type Store } from "../store";
import { subscribeToEvents } from "./events";
import { ApiError, getJson } from "./http";
import { keyStore } from "./key";

/** Data that is read from the server, and read again when a server event says that it changed. */
export interface Resource<T> {
  value: T | undefined;
  error: string | undefined;
}

interface Options {
  path: string;
  /** Whether an event makes it outdated. If omitted, it is read once. */
  isTouchedBy?: (event: ServerEvent) => boolean;
}

export interface ResourceStore<T> extends Store<Resource<T>> {
  refresh: () => void;
}

export function createResource<T>({ path, isTouchedBy }: Options): ResourceStore<T> {
  const store = createStore<Resource<T>>({ value: undefined, error: undefined });
  let followers = 0;
  let unfollow: (() => void) | undefined;
  let isReading = false;
  let isStale = false;

  // One read at a time: any number of events during a read cause exactly one more.
  const refresh = async () => {
    if (isReading) {
      isStale = true;
      return;
    }
    isReading = true;
    do {
      isStale = false;
      try {
        store.write({ value: await getJson<T>(path), error: undefined });
      } catch (error) {
        const text = error instanceof ApiError ? error.message : "The server does not answer";
        store.write(({ value }) => ({ value, error: text }));
      }
    } while (isStale);
    isReading = false;
  };

  const follow = () => {
    void refresh();
    const stopEvents = isTouchedBy
      ? subscribeToEvents((event) => {
          if (event.type === "ready" || event.type === "missed" || isTouchedBy(event)) void refresh();
        })
      : undefined;
    let { generation } = keyStore.read();
    const stopKey = keyStore.subscribe(() => {
      if (keyStore.read().generation === generation) return;
      generation = keyStore.read().generation;
      void refresh();
    });
    return () => {
      stopEvents?.();
      stopKey();
    };
  };

  return {
    ...store,
    refresh: () => void refresh(),
    subscribe: (listener) => {
      const unsubscribe = store.subscribe(listener);
      followers += 1;
      if (followers === 1) unfollow = follow();
      return () => {
        unsubscribe();
        followers -= 1;
        if (followers === 0) unfollow?.();
      };
    },
  };
}

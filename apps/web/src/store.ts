import { useSyncExternalStore } from "react";

/** A value outside React that components can subscribe to. */
export interface Store<T> {
  read: () => T;
  write: (next: T | ((current: T) => T)) => void;
  subscribe: (listener: () => void) => () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    read: () => value,
    write: (next) => {
      const updated = typeof next === "function" ? (next as (current: T) => T)(value) : next;
      if (Object.is(updated, value)) return;
      value = updated;
      // A copy: a listener that subscribes again would make the loop endless.
      for (const listener of [...listeners]) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Pick<Store<T>, "read" | "subscribe">): T {
  return useSyncExternalStore(store.subscribe, store.read, store.read);
}

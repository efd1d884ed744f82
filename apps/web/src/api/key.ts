import { createStore } from "../store";

const STORAGE = "holdpoint-key";

interface KeyState {
  key: string | undefined;
  /** The server responded with 401: ask for a key. */
  isWanted: boolean;
  /** Changes with every new key, so that failed requests are repeated. */
  generation: number;
}

// sessionStorage: a key must not outlive its tab.
export const keyStore = createStore<KeyState>({
  key: sessionStorage.getItem(STORAGE) ?? undefined,
  isWanted: false,
  generation: 0,
});

export function setKey(key: string): void {
  sessionStorage.setItem(STORAGE, key);
  keyStore.write(({ generation }) => ({ key, isWanted: false, generation: generation + 1 }));
}

export function wantKey(): void {
  keyStore.write((state) => (state.isWanted ? state : { ...state, isWanted: true }));
}

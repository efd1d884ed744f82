import { createStore } from "../store";

/** Everything that the console stores in the tab begins with it. */
const PREFIX = "holdpoint-";
const STORAGE = `${PREFIX}key`;

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

/** Ends the user's session in this tab: nothing of it stays in the storage or in memory. */
export function signOut(): void {
  // The subscribers drop what they hold, so that leaving the page does not store it again.
  keyStore.write(({ generation }) => ({ key: undefined, isWanted: true, generation: generation + 1 }));
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
  }
  history.replaceState(null, "", location.pathname);
  location.reload();
}

export function wantKey(): void {
  keyStore.write((state) => (state.isWanted ? state : { ...state, isWanted: true }));
}

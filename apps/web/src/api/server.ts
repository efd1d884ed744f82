import type { ServerOptions } from "holdpoint";
import { useMemo } from "react";
import { useStore } from "../store";
import { keyStore, wantKey } from "./key";

/** `fetch` for every request of the console. A 401 opens the key dialog. */
export const consoleFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status === 401) wantKey();
  return response;
};

/** The server that the console talks to, for the client's functions. */
export function serverOptions(): ServerOptions {
  return { apiKey: keyStore.read().key, fetch: consoleFetch, events: "browser" };
}

/** The same for the client's hooks: a new key is a new user. */
export function useServer(): ServerOptions {
  const { key } = useStore(keyStore);
  return useMemo(() => ({ apiKey: key, fetch: consoleFetch, events: "browser" }), [key]);
}

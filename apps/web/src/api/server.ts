import { createHoldpoint, type Holdpoint, type HoldpointOptions } from "holdpoint";
import { useMemo } from "react";
import { useStore } from "../store";
import { keyStore, wantKey } from "./key";

/** `fetch` for every request of the console. A 401 opens the key dialog. */
export const consoleFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status === 401) wantKey();
  return response;
};

function optionsFor(apiKey: string | undefined): HoldpointOptions {
  return { apiKey, fetch: consoleFetch, events: "browser" };
}

/** A client with the key of now, outside of components. */
export function currentClient(): Holdpoint {
  return createHoldpoint(optionsFor(keyStore.read().key));
}

/** The server that the console talks to, for the package's hooks: a new key is a new user. */
export function useServer(): HoldpointOptions {
  const { key } = useStore(keyStore);
  return useMemo(() => optionsFor(key), [key]);
}

/** The same, for requests. */
export function useClient(): Holdpoint {
  const server = useServer();
  return useMemo(() => createHoldpoint(server), [server]);
}

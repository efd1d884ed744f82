import { useMemo, useRef } from "react";
import type { EventsSource } from "../server/events.js";
import { type ClientOrOptions, createHoldpoint, type Holdpoint, withServerOptions } from "../server/holdpoint.js";
import { type HoldpointOptions, identityOf, resolve } from "../server/options.js";

/**
 * The client that a hook was given, or one with its options: the same for as long as the server and the key are the same.
 * Functions are usually inline, so new on every render: the latest are called, and a new one changes nothing else.
 */
export function useClient(options: ClientOrOptions): Holdpoint {
  const latest = useRef(options);
  latest.current = options;
  const { client } = options;
  // Says so if there are both.
  if (client !== undefined) withServerOptions(options);
  const { fetch, ticket, events } = options;
  const identity = [
    identityOf(options),
    typeof fetch,
    typeof ticket,
    typeof events === "string" ? events : typeof events,
  ].join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the identity stands for all options.
  const made = useMemo((): Holdpoint => {
    const { baseUrl, credentials, apiKey, headers, fetch, ticket, events } = latest.current;
    return createHoldpoint({
      baseUrl,
      credentials,
      apiKey: typeof apiKey === "function" ? () => resolve(latest.current.apiKey) : apiKey,
      headers: typeof headers === "function" ? () => resolve(latest.current.headers) : headers,
      ...(fetch && { fetch: (input, init) => (latest.current.fetch ?? globalThis.fetch)(input, init) }),
      ...(ticket && { ticket: async () => latest.current.ticket?.() }),
      events: typeof events === "object" ? latestEvents(() => latest.current.events, events) : events,
    });
  }, [identity]);
  return client ?? made;
}

function latestEvents(latest: () => HoldpointOptions["events"], first: EventsSource): EventsSource {
  const current = () => {
    const events = latest();
    return typeof events === "object" ? events : first;
  };
  return { subscribe: (...listeners) => current().subscribe(...listeners) };
}

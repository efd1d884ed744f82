import { useSyncExternalStore } from "react";
import type { ToolSpec } from "../protocol.js";
import { Followed } from "../server/followed.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { perServer } from "../server/per-server.js";
import { useClient } from "./use-client.js";

/** The server's tools. */
export type UseToolsHelpers = {
  /** `undefined` until they are known. */
  tools: ToolSpec[] | undefined;
  /** Why the last attempt to read them failed, until one succeeds. */
  error: HoldpointError | undefined;
};

// No event reports a change. A restarted server may have other tools, and its events begin with `ready`.
const toolsOf = perServer(
  (options) =>
    new Followed(
      options,
      (client, signal) => client.tools({ signal }),
      () => false,
    ),
);

/**
 * The server's tools, for parts of a page that have no chat, such as an inbox. All components of a page share one list
 * for a server and key.
 */
export function useTools(options: ClientOrOptions = {}): UseToolsHelpers {
  const tools = toolsOf(useClient(options).options);
  const { value, error } = useSyncExternalStore(tools.subscribe, tools.getState, tools.getState);
  return { tools: value, error };
}

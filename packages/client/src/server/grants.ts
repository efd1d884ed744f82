import type { Grant, GrantId } from "../protocol.js";
import { readPages } from "./read-pages.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The grants that this user made, or that cover their chats; for an admin, all. */
export async function fetchGrants(
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<Grant[]> {
  return await readPages<Grant>(new Server(options), "/api/grants", options.signal);
}

/** Revokes a grant. Nothing runs on it once this has resolved. */
export async function revokeGrant(
  id: GrantId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const path = `/api/grants/${encodeURIComponent(id)}`;
  await new Server(options).request(path, { method: "DELETE", signal: options.signal });
}

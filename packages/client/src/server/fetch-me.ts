import type { Me } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Who the requests with these options are: subject, roles and groups, and until when the credential is accepted. */
export async function fetchMe(options: ServerOptions & { signal?: AbortSignal | undefined } = {}): Promise<Me> {
  return await new Server(options).json<Me>("/api/me", { signal: options.signal });
}

import type { Grant, GrantId } from "../protocol.js";
import { readPages } from "./read-pages.js";
import type { RequestOptions, Server } from "./server.js";

/** What runs without a question, because a person has said so. */
export class Grants {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  /** The grants that this user made, or that cover their chats; for an admin, all. */
  async list({ signal }: RequestOptions = {}): Promise<Grant[]> {
    return await readPages<Grant>(this.#server, "/api/grants", signal);
  }

  /** Revokes a grant. Nothing runs on it once this has resolved. */
  async revoke(id: GrantId, { signal }: RequestOptions = {}): Promise<void> {
    await this.#server.request(`/api/grants/${encodeURIComponent(id)}`, { method: "DELETE", signal });
  }
}

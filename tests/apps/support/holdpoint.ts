import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Running } from "../../support/process.mjs";
import { binary, started } from "../../support/server.mjs";
import { answers, run } from "./process";

const SETTINGS = "holdpoint.toml";

/** Somebody who decides about the calls of others. */
export interface Approver {
  subject: string;
  group: string;
  key: string;
}

/** The key of the app, the origin of the pages that may use the server with it, and who else has one. */
export interface Access {
  key: string;
  origin: string;
  approvers: readonly Approver[];
}

/** A Holdpoint server with the demo model, on its own port, with its log in its own folder. */
export class Holdpoint {
  readonly address: string;
  readonly #port: number;
  readonly #headers: Record<string, string>;
  readonly #folder = mkdtempSync(join(tmpdir(), "holdpoint-apps-data-"));
  #running: Running | undefined;

  constructor(port: number, settings: string, access?: Access) {
    this.#port = port;
    this.#headers = access === undefined ? {} : { authorization: `Bearer ${access.key}` };
    writeFileSync(join(this.#folder, SETTINGS), access === undefined ? settings : withKeys(settings, access));
    this.address = `http://127.0.0.1:${port}`;
  }

  async start(): Promise<void> {
    const args = ["--data", this.#folder, "--config", SETTINGS];
    const listen = `127.0.0.1:${this.#port}`;
    ({ running: this.#running } = await started(args, { listen, cwd: this.#folder, isGroup: true }));
    await answers(`${this.address}/ready`, this.#running);
  }

  /** Kills it at once, like a power cut. */
  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
  }

  /** Kills it, and starts it again with the same port and log. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Kills it for good. */
  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async get<BODY>(path: string): Promise<BODY> {
    const response = await fetch(`${this.address}${path}`, { headers: this.#headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as BODY;
  }

  /** Approves with this key, and gives what the server answers. */
  async approve(approvalId: string, key: string): Promise<unknown> {
    const response = await fetch(`${this.address}/api/approvals/${approvalId}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ approved: true }),
    });
    return response.json();
  }

  /** The chat as it is in the log, one JSON value a line. */
  async export(chatId: string): Promise<string> {
    return run(binary(), ["export", "--data", this.#folder, chatId], { cwd: this.#folder });
  }
}

function withKeys(settings: string, { key, origin, approvers }: Access): string {
  const entry = (key: string, rest: string) =>
    `[[auth.keys]]\nkey_sha256 = "${createHash("sha256").update(key).digest("hex")}"\n${rest}\n`;
  const others = approvers.map((each) =>
    entry(each.key, `subject = "${each.subject}"\nroles = ["approver"]\ngroups = ["${each.group}"]`),
  );
  return [`origins = ["${origin}"]`, settings, entry(key, 'subject = "app"'), ...others].join("\n");
}

import type { ProcessOptions, Running } from "./process.mjs";

/** HOLDPOINT_BIN, or cargo's latest build. */
export function binary(): string;

/** Why a server did not start. */
export class NotStarted extends Error {
  readonly code: number | string | undefined;
  readonly said: string;
}

export interface ServerOptions extends ProcessOptions {
  /** Default: a free port. */
  listen?: string | undefined;
  /** Default: {@link binary}. */
  program?: string | undefined;
  /** A command that runs the program with the rest as arguments. */
  around?: readonly string[] | undefined;
  startsWithinMs?: number | undefined;
}

/** Runs `serve` with these arguments. */
export function launch(args: readonly string[], options?: ServerOptions): Running & { url: Promise<string> };

/** The same, once it can answer. */
export function started(args: readonly string[], options?: ServerOptions): Promise<{ running: Running; url: string }>;

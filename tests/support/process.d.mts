/** What a process gets of this one. */
export function environment(): Record<string, string | undefined>;

export interface ProcessOptions {
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** Its children end with it. */
  isGroup?: boolean | undefined;
}

/** A process, whose output is kept. None is left behind. */
export class Running {
  /** What it has printed. */
  readonly output: string;
  readonly out: string;
  readonly errors: string;
  /** Its exit code, or the name of the signal that ended it. Rejects if it could not be started. */
  readonly exited: Promise<number | string>;
  /** The same, when the last of its output has arrived. */
  readonly closed: Promise<number | string>;
  readonly pid: number | undefined;
  readonly isUp: boolean;
  onOutput(listen: (out: string) => void): void;
  signal(name: NodeJS.Signals): void;
  /** Ends it at once, like a power cut, and waits until it is gone. */
  kill(): Promise<void>;
  /** Sends a signal that ends it, and waits until it has. */
  end(signal: NodeJS.Signals, withinMs: number): Promise<number | string>;
}

/** Starts a command that runs until it is ended. */
export function start(command: string, args: readonly string[], options?: ProcessOptions): Running;

import type { ServerEvent } from "../protocol.js";
import { followRecord } from "./follow-record.js";
import { createHoldpoint, type Holdpoint } from "./holdpoint.js";
import type { HoldpointError } from "./holdpoint-error.js";
import { Listeners } from "./listeners.js";
import type { HoldpointOptions } from "./options.js";
import { Server } from "./server.js";

/** Something that was read from the server. */
export type FollowedState<T> = {
  /** The last value; `undefined` until the first one arrives. */
  value: T | undefined;
  /** Why the last attempt to read it failed, until one succeeds. */
  error: HoldpointError | undefined;
};

/** A value of the server, kept current for all that use it: one read, however many there are. */
export class Followed<T> {
  readonly #options: () => HoldpointOptions;
  readonly #read: (client: Holdpoint, signal: AbortSignal) => Promise<T>;
  readonly #isTouchedBy: (event: ServerEvent) => boolean;
  readonly #listeners = new Listeners();
  #state: FollowedState<T> = { value: undefined, error: undefined };
  #following: ReturnType<typeof followRecord> | undefined;

  constructor(
    options: () => HoldpointOptions,
    read: (client: Holdpoint, signal: AbortSignal) => Promise<T>,
    isTouchedBy: (event: ServerEvent) => boolean,
  ) {
    this.#options = options;
    this.#read = read;
    this.#isTouchedBy = isTouchedBy;
  }

  readonly getState = (): FollowedState<T> => this.#state;

  /** The first subscriber starts it, the last one ends it. The value stays. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const remove = this.#listeners.add(listener);
    if (this.#following === undefined) {
      this.#following = this.#follow();
      // Without waiting for the events, which may be a while away.
      this.#following.refresh();
    }
    return () => {
      remove();
      if (this.#listeners.size > 0) return;
      this.#following?.stop();
      this.#following = undefined;
    };
  };

  /** Reads it again now. */
  readonly refresh = (): void => this.#following?.refresh();

  #follow() {
    return followRecord<T>(new Server(this.#options()), {
      read: (signal) => this.#read(createHoldpoint(this.#options()), signal),
      isTouchedBy: this.#isTouchedBy,
      onValue: (value) => this.#set({ value, error: undefined }),
      onError: (error) => this.#set({ value: this.#state.value, error }),
    });
  }

  #set(state: FollowedState<T>): void {
    this.#state = state;
    this.#listeners.call();
  }
}

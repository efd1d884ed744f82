import type { ToolHandler } from "./tool-handler.js";

/**
 * Creates the handler of `change_bgm`: passes the track number to your function, which plays it, with a signal that is
 * aborted when the page leaves the chat. The turn does not wait for the result.
 */
export function changeBgm(options: {
  play: (track: number, signal: AbortSignal) => unknown | Promise<unknown>;
}): ToolHandler<unknown, { success: true; track: number }> {
  return async (input, { signal }) => {
    const { track } = (input ?? {}) as { track?: unknown };
    if (typeof track !== "number") throw new Error("There is no track to play.");
    await options.play(track, signal);
    return { success: true, track };
  };
}

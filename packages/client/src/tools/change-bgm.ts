import type { ToolHandler } from "./tool-handler.js";

/** The handler of `change_bgm`: gives the track's number to a function of yours that plays it. Nobody waits for the answer. */
export function changeBgm(options: { play: (track: number) => unknown | Promise<unknown> }): ToolHandler {
  return async (input) => {
    const { track } = (input ?? {}) as { track?: unknown };
    if (typeof track !== "number") throw new Error("There is no track to play.");
    await options.play(track);
    return { success: true, track };
  };
}

import { askUser, changeBgm, getLocation, openUrl, type ToolHandlers } from "holdpoint";
import type { Recorder } from "../inspector/recorder";
import { playTrack } from "../panel/music";
import { openPage } from "../panel/pages";
import { promptInCard } from "../prompt/openPrompts";

/** The browser permission that a tool needs. */
export const PERMISSIONS: Readonly<Record<string, PermissionName>> = { get_location: "geolocation" };

/** The handlers of this browser. Each run is marked, so that the timeline can show it. */
export function browserTools(recorder: Recorder): ToolHandlers {
  const tools: ToolHandlers = {
    get_location: getLocation({ position: { timeout: 30_000, maximumAge: 60_000 } }),
    "open-url": openUrl({ open: openPage }),
    change_bgm: changeBgm({ play: playTrack }),
    ask_user: askUser({ prompt: promptInCard }),
  };
  return Object.fromEntries(
    Object.entries(tools).map(([name, run]) => [
      name,
      async (input, call) => {
        const { toolCallId } = call;
        recorder.mark({ type: "browser-start", toolCallId });
        try {
          return await run(input, call);
        } finally {
          recorder.mark({ type: "browser-end", toolCallId });
        }
      },
    ]),
  );
}

import { changeBgm, getLocation, openUrl, type ToolHandler, type ToolHandlers } from "holdpoint";
import type { Recorder } from "../inspector/recorder";
import { playTrack } from "../panel/music";
import { openPage } from "../panel/pages";
import { inOneTab } from "./oneTab";

/** What this browser can do for the assistant; each run is marked, so that the picture of the turn can show it. */
export function browserTools(recorder: Recorder, isSettled: (toolCallId: string) => boolean): ToolHandlers {
  const waitedFor: ToolHandlers = {
    get_location: getLocation({ position: { timeout: 30_000, maximumAge: 60_000 } }),
    "open-url": openUrl({ open: openPage }),
  };
  // Their outcome is there before they begin, so it says nothing about whether they ran.
  const handedOver: ToolHandlers = { change_bgm: changeBgm({ play: playTrack }) };

  const marked = (handler: ToolHandler, isDone?: (toolCallId: string) => boolean): ToolHandler => {
    return (input, call) => {
      const { toolCallId } = call;
      const run = async () => {
        recorder.mark({ type: "browser-start", toolCallId });
        try {
          return await handler(input, call);
        } finally {
          recorder.mark({ type: "browser-end", toolCallId });
        }
      };
      return inOneTab({ name: toolCallId, run, ...(isDone && { isDone: () => isDone(toolCallId) }) });
    };
  };
  return {
    ...mapValues(waitedFor, (handler) => marked(handler, isSettled)),
    ...mapValues(handedOver, (handler) => marked(handler)),
  };
}

function mapValues(handlers: ToolHandlers, change: (handler: ToolHandler) => ToolHandler): ToolHandlers {
  return Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, change(handler)]));
}

import type { ToolHandlers } from "holdpoint";
import type { Recorder } from "../inspector/recorder";
import { TOOL_CARDS } from "./registry";

/** The handlers of this browser. Each run is marked, so that the timeline can show it. */
export function browserTools(recorder: Recorder): ToolHandlers {
  const tools: ToolHandlers = {};
  for (const { tool, handler } of TOOL_CARDS.values()) {
    if (handler === undefined) continue;
    tools[tool] = async (input, call) => {
      const { toolCallId } = call;
      recorder.mark({ type: "browser-start", toolCallId });
      try {
        return await handler(input, call);
      } finally {
        recorder.mark({ type: "browser-end", toolCallId });
      }
    };
  }
  return tools;
}

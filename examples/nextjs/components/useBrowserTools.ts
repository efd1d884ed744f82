import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import type { FrontendCall } from "holdpoint";
import { useRef, useState } from "react";
import { browserTools } from "@/lib/browser-tools";

/** Runs the calls of browser tools, each once, and passes on what came of them. */
export function useBrowserTools(addToolOutput: UseChatHelpers<UIMessage>["addToolOutput"]) {
  // `onToolCall` fires again when a response is resumed.
  const started = useRef(new Set<string>());
  const [running, setRunning] = useState<ReadonlySet<string>>(new Set());

  /** Returns at once: the SDK reads the rest of the response only after `onToolCall` has returned. */
  function runInBrowser(call: FrontendCall): void {
    const { toolName: tool, toolCallId } = call;
    const handler = browserTools.get(tool);
    if (handler === undefined || started.current.has(toolCallId)) return; // no handler: it runs on the server
    started.current.add(toolCallId);
    setRunning(new Set(started.current));
    void (async () => {
      try {
        addToolOutput({ tool, toolCallId, output: await handler(call.input, call) });
      } catch (error) {
        const errorText = error instanceof Error ? error.message : String(error);
        addToolOutput({ tool, toolCallId, state: "output-error", errorText });
      }
    })();
  }

  return { runInBrowser, running };
}

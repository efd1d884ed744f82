import type { UseChatHelpers } from "@ai-sdk/react";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import type { FrontendCall } from "holdpoint";
import { useRef, useState } from "react";
import { browserTools } from "@/lib/browser-tools";

/** Runs the calls of browser tools, each once, and passes on what came of them. */
export function useBrowserTools(
  history: readonly UIMessage[],
  addToolOutput: UseChatHelpers<UIMessage>["addToolOutput"],
) {
  // `onToolCall` fires again when a response is resumed.
  const started = useRef(new Set<string>());
  const [leftOver, setLeftOver] = useState(() => waitingForBrowser(history));

  /** Returns at once: the SDK reads the rest of the response only after `onToolCall` has returned. */
  function runInBrowser(call: FrontendCall): void {
    const { toolName: tool, toolCallId } = call;
    const handler = browserTools.get(tool);
    if (handler === undefined || started.current.has(toolCallId)) return; // no handler: it runs on the server
    started.current.add(toolCallId);
    setLeftOver((ids) => new Set([...ids].filter((id) => id !== toolCallId)));
    void (async () => {
      try {
        addToolOutput({ tool, toolCallId, output: await handler(call.input, call) });
      } catch (error) {
        const errorText = error instanceof Error ? error.message : String(error);
        addToolOutput({ tool, toolCallId, state: "output-error", errorText });
      }
    })();
  }

  return { runInBrowser, leftOver };
}

/** The calls that a page was left with before they had run. `onToolCall` does not fire for these. */
function waitingForBrowser(history: readonly UIMessage[]): ReadonlySet<string> {
  const waiting = (history.at(-1)?.parts ?? []).filter(isToolUIPart).filter((part) => {
    const mayRun = part.state === "input-available" || (part.state === "approval-responded" && part.approval.approved);
    return mayRun && browserTools.has(getToolName(part));
  });
  return new Set(waiting.map(({ toolCallId }) => toolCallId));
}

import type { UseChatHelpers } from "@ai-sdk/react";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import type { FrontendCall } from "holdpoint";
import { useEffect, useRef, useState } from "react";
import { browserTools } from "@/lib/browser-tools";

/** Runs the calls of browser tools, each once, and passes on what came of them. */
export function useBrowserTools(
  history: readonly UIMessage[],
  { messages, addToolOutput }: Pick<UseChatHelpers<UIMessage>, "messages" | "addToolOutput">,
) {
  // `onToolCall` fires again when a response is resumed.
  const started = useRef(new Set<string>());
  const running = useRef(new Map<string, AbortController>());
  const [leftOver, setLeftOver] = useState(() => waitingForBrowser(history));

  // Stopped, expired or replaced by a newer message: the handler closes what it has opened.
  useEffect(() => {
    for (const [toolCallId, end] of running.current) if (!isOpen(messages.at(-1), toolCallId)) end.abort();
  }, [messages]);
  useEffect(() => {
    const calls = running.current;
    return () => {
      for (const end of calls.values()) end.abort();
    };
  }, []);

  /** Returns at once: the SDK reads the rest of the response only after `onToolCall` has returned. */
  function runInBrowser(call: FrontendCall): void {
    const { toolName: tool, toolCallId } = call;
    const handler = browserTools.get(tool);
    if (handler === undefined || started.current.has(toolCallId)) return; // no handler: it runs on the server
    started.current.add(toolCallId);
    setLeftOver((ids) => new Set([...ids].filter((id) => id !== toolCallId)));
    const end = new AbortController();
    const { signal } = end;
    running.current.set(toolCallId, end);
    void (async () => {
      try {
        const output = await handler(call.input, { ...call, signal });
        if (!signal.aborted) addToolOutput({ tool, toolCallId, output });
      } catch (error) {
        const errorText = error instanceof Error ? error.message : String(error);
        if (!signal.aborted) addToolOutput({ tool, toolCallId, state: "output-error", errorText });
      } finally {
        running.current.delete(toolCallId);
      }
    })();
  }

  return { runInBrowser, leftOver };
}

/** Whether the last message has the call, and no outcome of it. It may not have been written yet. */
function isOpen(last: UIMessage | undefined, toolCallId: string): boolean {
  if (last?.role !== "assistant") return false;
  const part = last.parts.filter(isToolUIPart).find((each) => each.toolCallId === toolCallId);
  return part === undefined || !part.state.startsWith("output-");
}

/** The calls that a page was left with before they had run. `onToolCall` does not fire for these. */
function waitingForBrowser(history: readonly UIMessage[]): ReadonlySet<string> {
  const waiting = (history.at(-1)?.parts ?? []).filter(isToolUIPart).filter((part) => {
    const mayRun = part.state === "input-available" || (part.state === "approval-responded" && part.approval.approved);
    return mayRun && browserTools.has(getToolName(part));
  });
  return new Set(waiting.map(({ toolCallId }) => toolCallId));
}

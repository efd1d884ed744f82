import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import { useHoldpoint } from "holdpoint/react";
import { AgentChat } from "./AgentChat";
import { type AgentMessage, handlers } from "./agent";
import { chatFromAddress } from "./chatId";
import { Status } from "./Status";
import { Thread } from "./Thread";

const id = chatFromAddress();

export function App() {
  // The transport, the history, decisions that are retried, and the browser's tools.
  const chat = useHoldpoint<AgentMessage>({ mode: "live", id, handlers });
  const runtime = useAISDKRuntime(chat, {
    // The server decides what becomes of an open call when the user sends another message.
    cancelPendingToolCallsOnSend: false,
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <AgentChat value={chat}>
        <Status />
        <Thread />
      </AgentChat>
    </AssistantRuntimeProvider>
  );
}

import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePartPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { AssistantChatTransport, useAISDKChat, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { createHoldpoint } from "holdpoint";
import { StrictMode, useEffect, useRef } from "react";
import { createRoot } from "react-dom/client";
import { Call } from "./Call";
import { locate } from "./locate";

const chatId = new URLSearchParams(location.search).get("chat") ?? "stock";

const transport = new AssistantChatTransport<UIMessage>({
  api: "/api/chat",
  // assistant-ui's own id of the thread is new with every load.
  prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
    body: { id: chatId, messages, trigger, messageId },
  }),
});

type Chat = ReturnType<typeof useAISDKChat>;

function App({ history }: { history: UIMessage[] }) {
  const chat = useRef<Chat>(undefined);
  const runtime = useChatRuntime({
    transport,
    messages: history,
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) || lastAssistantMessageIsCompleteWithToolCalls(state),
    onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) => {
      if (tool !== "get_location") return;
      // Not awaited: the SDK reads the rest of the response only after `onToolCall` has returned.
      void locate().then((output) => chat.current?.addToolOutput({ tool, toolCallId, output }));
    },
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <p role="status">Connected</p>
      <KeepChat onChat={(current) => (chat.current = current)} />
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages>
          {({ message }) => (
            <MessagePrimitive.Root className="message" data-role={message.role}>
              <MessagePrimitive.Parts components={PARTS} />
            </MessagePrimitive.Root>
          )}
        </ThreadPrimitive.Messages>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

/** The chat is known only inside of the provider, and `onToolCall` is outside of it. */
function KeepChat({ onChat }: { onChat: (chat: Chat) => void }) {
  const chat = useAISDKChat();
  useEffect(() => void onChat(chat));
  return null;
}

const PARTS = {
  Text: () => <MessagePartPrimitive.Text component="p" />,
  tools: { Fallback: Call },
} as const;

const root = document.getElementById("root");
if (root) {
  const history = await createHoldpoint().chats.messages(chatId);
  createRoot(root).render(
    <StrictMode>
      <App history={history} />
    </StrictMode>,
  );
}

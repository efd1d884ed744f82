import type { UIMessage } from "ai";
import { useCallback, useMemo } from "react";
import { approvalsStore, toolsStore } from "../api/resources";
import type { Mode } from "../modes";
import { useStore } from "../store";
import { Announcer } from "./Announcer";
import { AssistantMessage } from "./AssistantMessage";
import { ChatError } from "./ChatError";
import { Composer } from "./Composer";
import { isAsking, isHeld, isUnanswered } from "./holds";
import type { PartContext } from "./MessagePart";
import { Transcript } from "./Transcript";
import { UserMessage } from "./UserMessage";
import { useSession } from "./useSession";
import { Welcome } from "./Welcome";

interface Props {
  chatId: string;
  mode: Mode;
  initialMessages: UIMessage[];
  onFirstMessage: () => void;
}

/** An open chat. */
export function Session({ chatId, mode, initialMessages, onFirstMessage }: Props) {
  const session = useSession({ chatId, mode, initialMessages });
  const { messages, status, error, toolErrors, decide, retry, edit, again } = session;
  const { value: tools } = useStore(toolsStore);
  const { value: approvals } = useStore(approvalsStore);
  const last = messages.at(-1);
  const isBusy = status === "submitted" || status === "streaming";

  const toolNamed = useCallback((name: string) => tools?.find((tool) => tool.name === name), [tools]);
  const context = useMemo<PartContext>(
    () => ({
      toolNamed,
      pendingOf: (approvalId) => approvals?.find((approval) => approval.approvalId === approvalId),
      browserErrors: Object.fromEntries(Object.entries(toolErrors).map(([call, problem]) => [call, problem.message])),
      actions: { decide, retry },
    }),
    [toolNamed, approvals, toolErrors, decide, retry],
  );
  const send = (text: string) => {
    onFirstMessage();
    session.send(text);
  };
  return (
    <div className="chat" data-status={status}>
      <Transcript growth={messages} isEmpty={messages.length === 0}>
        {messages.length === 0 && <Welcome onChoose={send} />}
        {messages.map((message) =>
          message.role === "user" ? (
            <UserMessage key={message.id} message={message} onEdit={isBusy ? undefined : edit} />
          ) : (
            <AssistantMessage
              key={message.id}
              message={message}
              context={context}
              isStreaming={isBusy && message === last}
              onRegenerate={message === last && !isBusy && !isHeld(message) ? again : undefined}
            />
          ),
        )}
        {isBusy && last?.role === "user" && (
          <p className="message__wait" role="status">
            <span className="dots" aria-hidden="true" />
            <span className="visually-hidden">The assistant is working</span>
          </p>
        )}
        {!isBusy && !error && isUnanswered(last) && (
          <p className="message__continue">
            The assistant has not answered this.
            <button type="button" className="button" onClick={session.proceed}>
              Continue
            </button>
          </p>
        )}
        {error && <ChatError error={error} onRetry={again} onDismiss={session.clearError} />}
      </Transcript>
      <Announcer message={last} isStreaming={isBusy} toolNamed={toolNamed} />
      <Composer
        canStop={isBusy || isHeld(last)}
        isHeld={isAsking(last)}
        isReady
        onSend={send}
        onStop={() => void session.stop()}
      />
    </div>
  );
}

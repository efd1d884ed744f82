import type { UIMessage } from "ai";
import type { ChatHold } from "holdpoint/protocol";
import { useMemo } from "react";
import type { Mode } from "../modes";
import { Announcer } from "./Announcer";
import { AssistantMessage } from "./AssistantMessage";
import { ChatError } from "./ChatError";
import { Composer } from "./Composer";
import { callsOf, isHeld, isStalled, waitsForPerson } from "./callRecords";
import { EarlierAttempts } from "./EarlierAttempts";
import { attemptsOf, othersOf } from "./earlier";
import { Transcript } from "./Transcript";
import { UserMessage } from "./UserMessage";
import { useCallLookup } from "./useCallLookup";
import { useSession } from "./useSession";
import { Welcome } from "./Welcome";

interface Props {
  chatId: string;
  mode: Mode;
  isNew: boolean;
  initialMessages: UIMessage[];
  onFirstMessage: () => void;
}

const STOPPING = {
  sending: "Stopping…",
  failed: "Stop not confirmed: the server did not respond. Stop again.",
};
const NO_HOLDS: readonly ChatHold[] = [];

/** An open chat. */
export function Session({ chatId, mode, isNew, initialMessages, onFirstMessage }: Props) {
  const session = useSession({ chatId, mode, messages: initialMessages });
  const { messages, status, error, clearError, holds, server, unsent, stopping, edit, again } = session;
  const lookup = useCallLookup(session);
  const last = messages.at(-1);
  const calls = callsOf(last, lookup);
  const isBusy = status === "submitted" || status === "streaming";
  const isConnected = server.state === "connected";
  const attempts = useMemo(() => attemptsOf(holds), [holds]);
  const growth = useMemo(() => ({ messages, holds }), [messages, holds]);

  const send = (text: string) => {
    onFirstMessage();
    session.send(text);
  };
  return (
    <div className="chat" data-status={status}>
      <Transcript
        growth={growth}
        sent={messages.findLast(({ role }) => role === "user")?.id}
        isEmpty={last === undefined}
      >
        {last === undefined && <Welcome onChoose={send} />}
        {messages.map((message) =>
          message.role === "user" ? (
            <UserMessage
              key={message.id}
              message={message}
              onEdit={isBusy ? undefined : edit}
              onResend={unsent.includes(message.id) && !isBusy ? () => void session.resend() : undefined}
            />
          ) : (
            <AssistantMessage
              key={message.id}
              message={message}
              lookup={lookup}
              earlier={attempts.get(message.id) ?? NO_HOLDS}
              isStreaming={isBusy && message === last}
              onRegenerate={message === last && !isBusy && !isHeld(calls) ? again : undefined}
            />
          ),
        )}
        <EarlierAttempts holds={othersOf(attempts, messages)} toolNamed={lookup.toolNamed} />
        {isBusy && last?.role === "user" && (
          <p className="message__wait" role="status">
            <span className="dots" aria-hidden="true" />
            <span className="visually-hidden">The assistant is working</span>
          </p>
        )}
        {!isBusy && !error && isConnected && isStalled(last) && (
          <p className="message__continue">
            The assistant has not answered this.
            <button type="button" className="button" onClick={session.proceed}>
              Continue
            </button>
          </p>
        )}
        {error && isConnected && unsent.length === 0 && (
          <ChatError error={error} onRetry={again} onDismiss={clearError} />
        )}
      </Transcript>
      <Announcer message={last} isStreaming={isBusy} lookup={lookup} />
      <Composer
        draftOf={isNew ? undefined : chatId}
        canStop={isBusy || isHeld(calls)}
        stopNote={stopping && STOPPING[stopping.state]}
        isHeld={waitsForPerson(calls)}
        isReady
        onSend={send}
        onStop={() => void session.stop()}
      />
    </div>
  );
}

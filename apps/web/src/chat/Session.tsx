import { earlierAttempts } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { useMemo } from "react";
import type { Mode } from "../modes";
import { Untrusted } from "../text/Untrusted";
import { Announcer } from "./Announcer";
import { AssistantMessage } from "./AssistantMessage";
import { ChatError } from "./ChatError";
import { Composer } from "./Composer";
import { callsOf, isHeld, isStalled, waitsForPerson } from "./callRecords";
import { EarlierAttempts } from "./EarlierAttempts";
import { HistorySkeleton } from "./HistorySkeleton";
import { Transcript } from "./Transcript";
import { UserMessage } from "./UserMessage";
import { useCallLookup } from "./useCallLookup";
import { useSession } from "./useSession";
import { Welcome } from "./Welcome";

interface Props {
  chatId: string;
  mode: Mode;
  /** The server does not have this chat. */
  isNew: boolean;
  onFirstMessage: () => void;
}

const STOPPING = {
  sending: "Stopping…",
  failed: "Stop not confirmed: the server did not respond. Stop again.",
};
const NO_HOLDS: readonly ChatHold[] = [];

/** An open chat. Remount it for another chat or mode. */
export function Session({ chatId, mode, isNew, onFirstMessage }: Props) {
  const session = useSession({ chatId, mode, isNew });
  const { messages, status, error, clearError, holds, history, server, unsent, stopping, edit, again, delay } = session;
  const lookup = useCallLookup(session);
  const last = messages.at(-1);
  const calls = callsOf(last, lookup);
  const isBusy = status === "submitted" || status === "streaming";
  const isConnected = server.state === "connected";
  const isLoaded = history.state === "loaded";
  const attempts = useMemo(() => earlierAttempts(holds, messages), [holds, messages]);
  const growth = useMemo(() => ({ messages, holds, delay }), [messages, holds, delay]);

  const send = (text: string) => {
    onFirstMessage();
    session.send(text);
  };
  if (history.state === "failed" && last === undefined) {
    return (
      <div className="chat">
        <div className="empty" role="alert">
          <h2>This chat could not be read</h2>
          <p>
            <Untrusted text={history.error.message} reading="prose" />
          </p>
          <button type="button" className="button" onClick={session.reload}>
            Try again
          </button>
        </div>
      </div>
    );
  }
  const transcript = (
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
            earlier={attempts.byMessage.get(message.id) ?? NO_HOLDS}
            isStreaming={isBusy && message === last}
            onRegenerate={message === last && !isBusy && !isHeld(calls) ? again : undefined}
          />
        ),
      )}
      <EarlierAttempts holds={attempts.others} toolNamed={lookup.toolNamed} />
      {delay !== undefined && (
        <p className="message__delay">
          <span className="dots" aria-hidden="true" />
          <Untrusted text={delay.message} reading="prose" />
        </p>
      )}
      {isBusy && delay === undefined && last?.role === "user" && (
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
  );
  return (
    <div className="chat" data-status={status}>
      {isLoaded || last !== undefined ? transcript : <HistorySkeleton />}
      {isLoaded && <Announcer message={last} isStreaming={isBusy} delay={delay} lookup={lookup} />}
      <Composer
        draftOf={isNew ? undefined : chatId}
        canStop={isBusy || isHeld(calls)}
        stopNote={stopping && STOPPING[stopping.state]}
        isHeld={waitsForPerson(calls)}
        isReady={isLoaded}
        onSend={send}
        onStop={() => void session.stop()}
      />
    </div>
  );
}

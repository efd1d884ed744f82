import { earlierAttempts } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { useLayoutEffect, useMemo, useRef } from "react";
import type { Mode } from "../modes";
import { Untrusted } from "../text/Untrusted";
import { Announcer } from "./Announcer";
import { AssistantMessage } from "./AssistantMessage";
import { ChatError } from "./ChatError";
import { callsOf, isHeld, isStalled, waitsForPerson } from "./callRecords";
import { EarlierAttempts } from "./EarlierAttempts";
import { HistorySkeleton } from "./HistorySkeleton";
import { Transcript } from "./Transcript";
import { UserMessage } from "./UserMessage";
import { useCallLookup } from "./useCallLookup";
import { useSession } from "./useSession";
import { Welcome } from "./Welcome";

/** What the field for the next message needs of its chat. */
export interface Controls {
  status: ReturnType<typeof useSession>["status"];
  /** A turn is running or held, so it can be stopped. */
  canStop: boolean;
  /** The progress of a stop. */
  stopNote: string | undefined;
  /** The last turn is held: a new message would withdraw its approval request. */
  isHeld: boolean;
  /** Sending is possible only once the history is loaded. */
  isReady: boolean;
  send: (text: string) => void;
  stop: () => void;
}

export interface SessionProps {
  chatId: string;
  mode: Mode;
  /** The server does not have this chat. */
  isNew: boolean;
  onFirstMessage: () => void;
  /** Called before anything is painted, with `undefined` when the session ends. */
  onControls: (controls: Controls | undefined) => void;
}

const STOPPING = {
  sending: "Stopping…",
  failed: "Stop not confirmed: the server did not respond. Stop again.",
};
const NO_HOLDS: readonly ChatHold[] = [];

/** An open chat, without the field for the next message. Remount it for another chat or mode. */
export function Session({ chatId, mode, isNew, onFirstMessage, onControls }: SessionProps) {
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
  const canStop = isBusy || isHeld(calls);
  const stopNote = stopping && STOPPING[stopping.state];
  const isWaiting = waitsForPerson(calls);
  const latest = useRef({ send, stop: session.stop });
  latest.current = { send, stop: session.stop };
  useLayoutEffect(() => {
    onControls({
      status,
      canStop,
      stopNote,
      isHeld: isWaiting,
      isReady: isLoaded,
      send: (text) => latest.current.send(text),
      stop: () => void latest.current.stop(),
    });
    return () => onControls(undefined);
  }, [onControls, status, canStop, stopNote, isWaiting, isLoaded]);
  if (history.state === "failed" && last === undefined) {
    return (
      <div className="empty" role="alert">
        <h2>This chat could not be read</h2>
        <p>
          <Untrusted text={history.error.message} reading="prose" />
        </p>
        <button type="button" className="button" onClick={session.reload}>
          Try again
        </button>
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
    <>
      {isLoaded || last !== undefined ? transcript : <HistorySkeleton />}
      {isLoaded && <Announcer message={last} isStreaming={isBusy} delay={delay} lookup={lookup} />}
    </>
  );
}

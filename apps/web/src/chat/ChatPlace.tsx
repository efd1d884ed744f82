import { useEffect, useRef, useState } from "react";
import { ErrorBoundary } from "../shell/ErrorBoundary";
import { PartTroubleNote } from "../shell/PartTroubleNote";
import { conversation } from "../shell/parts";
import { useStore } from "../store";
import { Composer } from "./Composer";
import { HistorySkeleton } from "./HistorySkeleton";
import type { Controls, SessionProps } from "./Session";
import { Transcript } from "./Transcript";
import { Welcome } from "./Welcome";

const IDLE = { canStop: false, stopNote: undefined, isHeld: false, stop: () => {} };

/**
 * A chat, with the field for the next message, which stays in its place whatever is loaded above it. A new chat needs the
 * rest of it with its first message only. Remount it for another chat or mode.
 */
export function ChatPlace(props: Omit<SessionProps, "onControls">) {
  const { chatId, isNew } = props;
  const { module, trouble } = useStore(conversation);
  const [hasBegun, setHasBegun] = useState(!isNew);
  const [isWanted, setIsWanted] = useState(!isNew);
  const [controls, setControls] = useState<Controls>();
  /** The first message, until the session can send it. */
  const first = useRef<string>(undefined);
  const isGone = useRef(false);

  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  useEffect(() => {
    if (hasBegun) void conversation.load();
  }, [hasBegun]);
  useEffect(() => {
    const text = first.current;
    if (text === undefined || !controls?.isReady) return;
    first.current = undefined;
    controls.send(text);
  }, [controls]);

  const begin = (text: string) => {
    first.current = text;
    setHasBegun(true);
  };
  /** Until the rest is loaded, the message stays in its field. */
  const beginWhenLoaded = (text: string) => {
    if (conversation.read().module !== undefined) return begin(text);
    setIsWanted(true);
    return conversation.load().then((isLoaded) => {
      if (!isLoaded || isGone.current) throw new Error("The chat has not begun.");
      begin(text);
    });
  };
  const choose = (text: string) => {
    // The trouble, if any, is shown.
    beginWhenLoaded(text)?.catch(() => {});
  };
  const { status, isReady, send, ...rest } = controls ?? {
    ...IDLE,
    status: hasBegun ? undefined : "ready",
    isReady: !hasBegun,
    send: beginWhenLoaded,
  };
  const missing = isWanted && trouble !== undefined && module === undefined && (
    <div className="transcript-frame">
      <PartTroubleNote part={conversation} />
    </div>
  );
  return (
    <div className="chat" data-status={status}>
      {missing ||
        (!hasBegun ? (
          <Transcript growth={undefined} sent={undefined} isEmpty>
            <Welcome onChoose={choose} />
          </Transcript>
        ) : module === undefined ? (
          <HistorySkeleton />
        ) : (
          <ErrorBoundary>
            <module.Session {...props} onControls={setControls} />
          </ErrorBoundary>
        ))}
      <Composer draftOf={isNew ? undefined : chatId} isReady={isReady} onSend={send} {...rest} />
    </div>
  );
}

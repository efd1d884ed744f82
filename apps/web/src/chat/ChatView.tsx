import type { UIMessage } from "ai";
import { fetchMessages } from "holdpoint";
import { useEffect, useState } from "react";
import { useServerStatus } from "../api/connection";
import { apiFetch } from "../api/http";
import type { Mode } from "../modes";
import { Untrusted } from "../text/Untrusted";
import { Composer } from "./Composer";
import { HistorySkeleton } from "./HistorySkeleton";
import { Session } from "./Session";

interface Props {
  chatId: string;
  mode: Mode;
  /** The server does not have this chat. */
  isNew: boolean;
  onFirstMessage: () => void;
}

type History = { state: "loading" } | { state: "failed"; error: string } | { state: "loaded"; messages: UIMessage[] };

/** Loads a chat's history, then opens it. Remount it for another chat or mode. */
export function ChatView({ chatId, mode, isNew, onFirstMessage }: Props) {
  const [history, setHistory] = useState<History>(isNew ? { state: "loaded", messages: [] } : { state: "loading" });
  const [attempt, setAttempt] = useState(0);
  const isLoading = history.state === "loading";

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt runs it again
  useEffect(() => {
    if (!isLoading) return;
    const controller = new AbortController();
    fetchMessages(chatId, { fetch: apiFetch, signal: controller.signal })
      .then((messages) => setHistory({ state: "loaded", messages }))
      .catch((error: unknown) => {
        if (!controller.signal.aborted) setHistory({ state: "failed", error: String(error) });
      });
    return () => controller.abort();
  }, [chatId, isLoading, attempt]);

  // If the history could not be read during an outage, read it on reconnect.
  const { state: connection } = useServerStatus();
  const isBack = history.state === "failed" && connection === "connected";
  useEffect(() => {
    if (isBack) setHistory({ state: "loading" });
  }, [isBack]);

  switch (history.state) {
    case "loaded":
      return (
        <Session
          chatId={chatId}
          mode={mode}
          isNew={isNew}
          initialMessages={history.messages}
          onFirstMessage={onFirstMessage}
        />
      );
    case "failed":
      return (
        <div className="chat">
          <div className="empty" role="alert">
            <h2>This chat could not be read</h2>
            <p>
              <Untrusted text={history.error} reading="prose" />
            </p>
            <button
              type="button"
              className="button"
              onClick={() => {
                setHistory({ state: "loading" });
                setAttempt(attempt + 1);
              }}
            >
              Try again
            </button>
          </div>
        </div>
      );
    case "loading":
      return (
        <div className="chat">
          <HistorySkeleton />
          <Composer
            draftOf={chatId}
            canStop={false}
            stopNote={undefined}
            isHeld={false}
            isReady={false}
            onSend={() => undefined}
            onStop={() => undefined}
          />
        </div>
      );
  }
}

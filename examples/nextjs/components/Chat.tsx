"use client";

import { useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useState } from "react";
import { sendAutomaticallyWhen } from "@/lib/auto-send";
import { failureOf } from "@/lib/failure";
import { holdpoint } from "@/lib/holdpoint";
import { retry } from "@/lib/retry";
import { transport } from "@/lib/transport";
import { Composer } from "./Composer";
import { ErrorNotice } from "./ErrorNotice";
import { Message } from "./Message";
import { Suggestions } from "./Suggestions";
import { useBrowserTools } from "./useBrowserTools";
import { useRecord } from "./useRecord";

export function Chat({ id, history }: { id: string; history: UIMessage[] }) {
  const chat = useChat({
    id,
    messages: history,
    resume: true, // shows the rest of a response that was open when the page was left
    transport,
    sendAutomaticallyWhen,
    onToolCall: ({ toolCall }) => runInBrowser(toolCall),
  });
  const { messages, status, error, sendMessage, addToolApprovalResponse } = chat;
  const { runInBrowser, leftOver } = useBrowserTools(history, chat);
  const holds = useRecord(chat);
  const failure = error && failureOf(error);
  const [stopError, setStopError] = useState<Error>();
  const isBusy = status === "submitted" || status === "streaming";

  /** Stops the turn on the server, which then ends the response. The `stop` of `useChat` would only stop listening. */
  function stop(): void {
    setStopError(undefined);
    holdpoint.chats.stop(id).catch(setStopError);
  }

  return (
    <main>
      <div className="scroll">
        <div className="messages" role="log">
          {messages.length === 0 && <Suggestions onPick={(text) => sendMessage({ text })} />}
          {messages.map((message, index) => (
            <Message
              key={message.id}
              message={message}
              isLast={index === messages.length - 1}
              request={failure ? "failed" : isBusy ? "open" : "none"}
              leftOver={leftOver}
              holds={holds}
              onDecide={addToolApprovalResponse}
              onRun={runInBrowser}
            />
          ))}
          {status === "submitted" && <p className="working">Working…</p>}
        </div>
      </div>
      {failure && <ErrorNotice chatId={id} failure={failure} onRetry={() => retry(chat, failure)} />}
      {stopError && isBusy && <p role="alert">The turn could not be stopped. {stopError.message}</p>}
      <Composer
        isBusy={isBusy}
        isDisabled={failure !== undefined}
        onSend={(text) => sendMessage({ text })}
        onStop={stop}
      />
    </main>
  );
}

import { HoldpointError } from "holdpoint";
import { useChats } from "holdpoint/react";
import { AlertDialog } from "radix-ui";
import { useState } from "react";
import { useClient } from "../api/server";
import type { ChatSummary } from "../api/types";
import { forgetChat } from "../inspector/recordings";
import { Untrusted } from "../text/Untrusted";
import { Layer } from "./layer";
import { newChat } from "./route";

interface Props {
  chat: ChatSummary;
  isCurrent: boolean;
  onClose: () => void;
}

/** Confirms the deletion of a chat, which can't be undone. */
export function DeleteChat({ chat, isCurrent, onClose }: Props) {
  const client = useClient();
  const { refresh } = useChats({ client });
  const [isDeleting, setIsDeleting] = useState(false);
  const [problem, setProblem] = useState<string>();

  const remove = async () => {
    setIsDeleting(true);
    setProblem(undefined);
    try {
      // First, so that nothing requests the deleted chat.
      if (isCurrent) newChat();
      await client.chats.delete(chat.id);
      forgetChat(chat.id);
      refresh();
      onClose();
    } catch (error) {
      setProblem(
        error instanceof HoldpointError && error.status !== undefined
          ? (error.reason ?? error.message)
          : "The server did not respond. The chat may still be there.",
      );
      setIsDeleting(false);
    }
  };
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="overlay" />
        <AlertDialog.Content className="dialog">
          <Layer>
            <AlertDialog.Title className="dialog__title">Delete this chat?</AlertDialog.Title>
            <AlertDialog.Description className="dialog__text" asChild>
              <div>
                <p className="dialog__name">
                  <Untrusted text={chat.title || "Untitled"} />
                </p>
                <p>
                  {chat.holds > 0
                    ? "Its open requests will be withdrawn. "
                    : chat.isRunning
                      ? "Its running turn will be stopped. "
                      : ""}
                  This can't be undone. What its tools have done stays done.
                </p>
              </div>
            </AlertDialog.Description>
            {problem !== undefined && (
              <p className="tool-card__error" role="alert">
                <Untrusted text={problem} reading="prose" />
              </p>
            )}
            <div className="dialog__row">
              <AlertDialog.Cancel className="button">Keep it</AlertDialog.Cancel>
              <button type="button" className="button button--bad" disabled={isDeleting} onClick={() => void remove()}>
                Delete
              </button>
            </div>
          </Layer>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

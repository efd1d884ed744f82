import type { UIMessage } from "ai";
import { Pencil } from "lucide-react";
import { memo, useState } from "react";
import { Untrusted } from "../text/Untrusted";
import { EditMessage } from "./EditMessage";
import { textOf } from "./messageText";

interface Props {
  message: UIMessage;
  /** `undefined` where nothing can be edited. */
  onEdit: ((messageId: string, text: string) => void) | undefined;
  /** Resends a message that the server does not have. */
  onResend: (() => void) | undefined;
}

export const UserMessage = memo(({ message, onEdit, onResend }: Props) => {
  const [isEditing, setIsEditing] = useState(false);
  const text = textOf(message);
  return (
    <article className="message message--user" aria-label="You">
      {isEditing && onEdit ? (
        <EditMessage
          text={text}
          onCancel={() => setIsEditing(false)}
          onSave={(edited) => {
            setIsEditing(false);
            onEdit(message.id, edited);
          }}
        />
      ) : (
        <>
          <p className="message__bubble">
            <Untrusted text={text} reading="prose" />
          </p>
          {onResend && (
            <p className="message__unsent" role="alert">
              Not sent: the server did not get it.
              <button type="button" className="button" onClick={onResend}>
                Send again
              </button>
            </p>
          )}
          {onEdit && !onResend && (
            <div className="message__actions">
              <button
                type="button"
                className="icon-button"
                aria-label="Edit message"
                title="Edit"
                onClick={() => setIsEditing(true)}
              >
                <Pencil size={14} aria-hidden="true" />
              </button>
            </div>
          )}
        </>
      )}
    </article>
  );
});

import type { UIMessage } from "ai";
import { Pencil } from "lucide-react";
import { memo, useState } from "react";
import { EditMessage } from "./EditMessage";
import { textOf } from "./messageText";

interface Props {
  message: UIMessage;
  /** Missing where nothing can be edited. */
  onEdit: ((messageId: string, text: string) => void) | undefined;
}

export const UserMessage = memo(({ message, onEdit }: Props) => {
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
          <p className="message__bubble">{text}</p>
          {onEdit && (
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

import { useState } from "react";

interface Props {
  text: string;
  onSave: (text: string) => void;
  onCancel: () => void;
}

export function EditMessage({ text, onSave, onCancel }: Props) {
  const [edited, setEdited] = useState(text);
  return (
    <form
      className="edit-message"
      onSubmit={(event) => {
        event.preventDefault();
        if (edited.trim() !== "") onSave(edited.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <textarea
        className="field"
        aria-label="Edit your message"
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit
        autoFocus
        rows={2}
        value={edited}
        onChange={(event) => setEdited(event.target.value)}
      />
      <div className="edit-message__row">
        <span className="edit-message__hint">Everything after it will be replaced.</span>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button button--primary" disabled={edited.trim() === ""}>
          Send again
        </button>
      </div>
    </form>
  );
}

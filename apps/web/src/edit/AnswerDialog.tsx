import type { DecisionProgress } from "holdpoint";
import { MessageSquareReply, OctagonX } from "lucide-react";
import { type RefObject, useId, useRef, useState } from "react";
import { Untrusted } from "../text/Untrusted";
import type { Decide } from "../tools/ApprovalActions";
import { refusalText } from "../tools/texts";
import { DecisionDialog } from "./DecisionDialog";
import { ReasonField } from "./ReasonField";
import { SendButton } from "./SendButton";
import { useSent } from "./useSent";

/** An answer that is being written. */
export interface AnswerDraft {
  text: string;
  isJson: boolean;
}

interface Props {
  title: string;
  /** The subject of the decision, for screen readers. */
  subject: string;
  /** Whether the request is still open. */
  isOpen: boolean;
  progress: DecisionProgress | undefined;
  /** What was written so far, so that closing the dialog loses nothing. */
  memory: RefObject<AnswerDraft | undefined>;
  onDecide: Decide;
  onClose: () => void;
  /** Moves the focus back, once the dialog is gone. */
  onGone: () => void;
}

/** Writes the output of a call that does not run. */
export function AnswerDialog({ title, subject, isOpen, progress, memory, onDecide, onClose, onGone }: Props) {
  const [draft, setDraft] = useState<AnswerDraft>(() => memory.current ?? { text: "", isJson: false });
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  memory.current = draft;

  const fail = (text: string) => {
    setProblem(text);
    field.current?.focus();
  };
  const { isSending, onSent } = useSent("answer", progress, {
    onClose: () => {
      memory.current = undefined;
      onClose();
    },
    onRefused: ({ status, reason: said }) => fail((status === 422 ? said : undefined) ?? refusalText("answer", status)),
  });
  const change = (next: Partial<AnswerDraft>) => {
    setDraft({ ...draft, ...next });
    setProblem(undefined);
  };
  const send = () => {
    const output = outputOf(draft);
    if (typeof output === "string") {
      fail(output);
      return;
    }
    setProblem(undefined);
    onSent();
    const why = reason.trim();
    onDecide({ output: output.value ?? null, ...(why !== "" && { reason: why }) });
  };
  return (
    <DecisionDialog
      title={title}
      subject="Answer in the tool's place"
      onClose={onClose}
      onGone={onGone}
      footer={
        <div className="approval__row">
          <SendButton
            label="Send as the tool's result"
            className="button button--primary"
            icon={MessageSquareReply}
            {...{ subject, isSending, isOpen }}
            onSend={send}
          />
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      }
    >
      <div className="edit__body prompt">
        <p className="edit__warning">
          <OctagonX size={16} aria-hidden="true" />
          <span>
            <b>The tool will not run.</b> The assistant gets what you write here as the tool's result.
          </span>
        </p>
        {!isOpen && (
          <p className="tool-card__error" role="alert">
            This request is no longer open.
          </p>
        )}
        <div className="prompt__field">
          <label className="prompt__label" htmlFor={id}>
            Result
          </label>
          <textarea
            ref={field}
            id={id}
            className={draft.isJson ? "field mono" : "field"}
            rows={8}
            spellCheck={!draft.isJson}
            aria-invalid={problem !== undefined}
            aria-describedby={problem && `${id}-problem`}
            value={draft.text}
            onChange={({ target }) => change({ text: target.value })}
          />
          {problem && (
            <p className="prompt__problem" id={`${id}-problem`} role="alert">
              <Untrusted text={problem} reading="prose" />
            </p>
          )}
        </div>
        <label className="prompt__tick" htmlFor={`${id}-json`}>
          <input
            id={`${id}-json`}
            type="checkbox"
            checked={draft.isJson}
            onChange={({ target }) => change({ isJson: target.checked })}
          />
          The result is JSON
        </label>
        <ReasonField reason={reason} onChange={setReason} />
      </div>
    </DecisionDialog>
  );
}

/** The output, or why there is none. */
function outputOf({ text, isJson }: AnswerDraft): { value: unknown } | string {
  if (text.trim() === "") return "Write the result.";
  if (!isJson) return { value: text };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return "This is not valid JSON.";
  }
}

import type { DecisionProgress } from "holdpoint";
import { Check } from "lucide-react";
import { type ReactNode, type RefObject, useEffect, useId, useMemo, useRef, useState } from "react";
import { type Draft, draftOf, hasControl } from "../form/draft";
import { FormFields } from "../form/FormFields";
import { readDraft, unreadable } from "../form/read";
import type { Decide } from "../tools/ApprovalActions";
import { refusalText } from "../tools/texts";
import { Lines } from "../value/Lines";
import { linesOf } from "../value/lines";
import { ReviewBody } from "../value/ReviewBody";
import type { Schema } from "../value/schema";
import { useUnread } from "../value/useUnread";
import { Changes } from "./Changes";
import { changesOf } from "./changes";
import { DecisionDialog } from "./DecisionDialog";
import { ReasonField } from "./ReasonField";
import { SendButton } from "./SendButton";
import { useSent } from "./useSent";

interface Props {
  title: string;
  /** The subject of the decision, for screen readers. */
  subject: string;
  input: unknown;
  schema: Schema;
  /** Whether the request is still open. */
  isOpen: boolean;
  progress: DecisionProgress | undefined;
  /** What the approval does besides. */
  warning?: ReactNode;
  /** What was written so far, so that closing the dialog loses nothing. */
  memory: RefObject<Draft | undefined>;
  onDecide: Decide;
  onClose: () => void;
  /** Moves the focus back, once the dialog is gone. */
  onGone: () => void;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Changes the input of a call in a form, then shows what was changed and what will run, and approves that. */
export function EditDialog(props: Props) {
  const { title, subject, input, schema, isOpen, progress, warning, memory, onDecide, onClose, onGone } = props;
  const [draft, setDraft] = useState<Draft>(() => memory.current ?? draftOf(input, schema));
  const [problems, setProblems] = useState(NONE);
  const [trouble, setTrouble] = useState<string>();
  const [checked, setChecked] = useState<{ value: unknown; id: string }>();
  const [reason, setReason] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const attempts = useRef(0);
  memory.current = draft;

  const { isSending, onSent } = useSent("edit", progress, {
    onClose: () => {
      memory.current = undefined;
      onClose();
    },
    onRefused: ({ status, pointer, reason: said }) => {
      setChecked(undefined);
      const at = pointer?.startsWith("/input") ? pointer.slice("/input".length) : undefined;
      const text = said ?? refusalText("edit", status);
      if (status === 422 && at !== undefined && hasControl(draft, at)) setProblems(new Map([[at, text]]));
      else setTrouble(status === 422 ? text : refusalText("edit", status));
    },
  });

  // The person is taken to the problem, which is read out with its field.
  useEffect(() => {
    if (problems.size > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problems]);

  const change = (next: Draft) => {
    setDraft(next);
    setTrouble(undefined);
    if (problems.size > 0) setProblems(NONE);
  };
  const check = () => {
    const found = form.current ? unreadable(form.current) : new Map<string, string>();
    const value = readDraft(draft, "", found);
    setProblems(found);
    attempts.current += 1;
    if (found.size === 0) setChecked({ value, id: `${id} ${attempts.current}` });
  };
  const isJson = draft.kind === "json";
  const switchView = () => {
    const found = new Map<string, string>();
    const value = readDraft(draft, "", found);
    setProblems(found);
    if (found.size === 0)
      setDraft(isJson ? draftOf(value, schema) : { kind: "json", text: JSON.stringify(value, null, 2) });
  };
  if (checked !== undefined) {
    return (
      <Checked
        {...{ title, subject, input, schema, isOpen, isSending, warning, onClose, onGone }}
        value={checked.value}
        id={checked.id}
        onBack={() => setChecked(undefined)}
        onSend={() => {
          onSent();
          const why = reason.trim();
          onDecide({ approved: true, input: checked.value ?? null, ...(why !== "" && { reason: why }) });
        }}
      />
    );
  }
  return (
    <DecisionDialog
      title={title}
      subject="Edit the input"
      onClose={onClose}
      onGone={onGone}
      footer={
        <div className="approval__row">
          <button type="submit" form={id} className="button button--primary">
            Check the changes
          </button>
          <button type="button" className="button" onClick={switchView}>
            {isJson ? "Edit as fields" : "Edit as JSON"}
          </button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      }
    >
      <form
        ref={form}
        id={id}
        className="edit__body prompt"
        aria-label={`Edit: ${subject}`}
        noValidate
        onSubmit={(event) => {
          // Also Enter in a field: it leads to the next step, which decides nothing yet.
          event.preventDefault();
          check();
        }}
      >
        {trouble !== undefined && (
          <p className="tool-card__error" role="alert">
            {trouble}
          </p>
        )}
        {!isOpen && (
          <p className="tool-card__error" role="alert">
            This request is no longer open. Nothing that you write here can be sent.
          </p>
        )}
        <FormFields
          draft={draft}
          pointer=""
          label={isJson ? "Input as JSON" : "Input"}
          problems={problems}
          root={schema}
          onChange={change}
        />
        <ReasonField reason={reason} onChange={setReason} />
      </form>
    </DecisionDialog>
  );
}

interface CheckedProps
  extends Pick<Props, "title" | "subject" | "input" | "schema" | "isOpen" | "warning" | "onClose" | "onGone"> {
  id: string;
  value: unknown;
  isSending: boolean;
  onBack: () => void;
  onSend: () => void;
}

/** What was changed, and all of the input that will run. */
function Checked(props: CheckedProps) {
  const { title, subject, input, schema, isOpen, id, value, isSending, warning, onBack, onSend, onClose, onGone } =
    props;
  const lines = useMemo(() => linesOf(value, schema), [value, schema]);
  const isChanged = useMemo(() => changesOf(input, value).length > 0, [input, value]);
  const unseen = useUnread(id, value, schema);
  return (
    <DecisionDialog
      title={title}
      subject="Check the changes"
      onClose={onClose}
      onGone={onGone}
      footer={
        <div className="approval__row">
          {isChanged && (
            <SendButton
              label={unseen > 0 ? `Approve with changes, ${unseen} unread` : "Approve with changes"}
              className={unseen > 0 ? "button" : "button button--ok"}
              icon={Check}
              {...{ subject, isSending, isOpen, onSend }}
            />
          )}
          <button
            type="button"
            className="button"
            aria-disabled={isSending}
            onClick={() => {
              if (!isSending) onBack();
            }}
          >
            Back
          </button>
        </div>
      }
    >
      <div className="edit__check">
        <div className="edit__changes">
          {/* Not the button: the key that led here must not approve. */}
          <h3 data-autofocus tabIndex={-1} className="edit__title">
            {isChanged ? "You have changed" : "Nothing has been changed"}
          </h3>
          <Changes before={input} after={value} />
          {warning}
          <h3 className="edit__title edit__title--next">What will run</h3>
          {!isOpen && (
            <p className="tool-card__error" role="alert">
              This request is no longer open.
            </p>
          )}
        </div>
        <ReviewBody id={id} label={`What will run, ${lines.length} lines`} count={lines.length}>
          {(limit) => <Lines caption={`${title}, what will run`} lines={lines} limit={limit} />}
        </ReviewBody>
      </div>
    </DecisionDialog>
  );
}

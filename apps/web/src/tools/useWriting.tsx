import type { DecisionProgress } from "holdpoint";
import { type ReactNode, type RefObject, useRef, useState } from "react";
import { AnswerDialog, type AnswerDraft } from "../edit/AnswerDialog";
import { EditDialog } from "../edit/EditDialog";
import type { Draft } from "../form/draft";
import type { Schema } from "../value/schema";
import type { Decide } from "./ApprovalActions";

interface Options {
  /** What the dialogs belong to. It gets the focus if the button that opened one is gone. */
  frame: RefObject<HTMLElement | null>;
  title: string;
  /** The subject of the decision, for screen readers. */
  subject: string;
  input: unknown;
  schema: Schema;
  /** Whether the request is still open. */
  isOpen: boolean;
  progress: DecisionProgress | undefined;
  /** What an approval of another input does besides, said where it is sent. */
  warning?: ReactNode;
  /** `undefined` where nothing can be decided. */
  decide: Decide | undefined;
}

interface Writing {
  isWriting: boolean;
  write: (what: "edit" | "answer") => void;
  /** The open dialog. */
  dialog: ReactNode;
}

/** The dialogs in which a person writes another input or an answer. What was written stays when one is closed. */
export function useWriting(options: Options): Writing {
  const { frame, decide, title, subject, input, schema, isOpen, progress, warning } = options;
  const [writing, setWriting] = useState<"edit" | "answer">();
  /** Whether a dialog is open: its first step is gone when the next one is there. */
  const isWriting = useRef(false);
  isWriting.current = writing !== undefined;
  const opener = useRef<Element>(null);
  const draft = useRef<Draft>(undefined);
  const answer = useRef<AnswerDraft>(undefined);

  const write = (what: "edit" | "answer") => {
    opener.current = document.activeElement;
    setWriting(what);
  };
  /** Back to where the dialog was opened from, or to the frame if that is gone. */
  const onGone = () => {
    if (isWriting.current) return;
    const back = opener.current;
    const isThere = back instanceof HTMLElement && frame.current?.contains(back);
    (isThere ? back : frame.current)?.focus();
  };
  const onClose = () => setWriting(undefined);
  const shared = { title, subject, progress, isOpen, onClose, onGone };
  const dialog = decide && (
    <>
      {writing === "edit" && <EditDialog {...{ ...shared, input, schema, warning }} memory={draft} onDecide={decide} />}
      {writing === "answer" && <AnswerDialog {...shared} memory={answer} onDecide={decide} />}
    </>
  );
  return { isWriting: writing !== undefined, write, dialog };
}

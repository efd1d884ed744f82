import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { CopyButton } from "../shell/CopyButton";
import { Layer } from "../shell/layer";
import { Untrusted } from "../text/Untrusted";
import { jsonText } from "./json";
import { ReviewTabs } from "./ReviewTabs";
import type { Schema } from "./schema";

interface Props {
  /** The id of the value, for tracking what was seen. */
  id: string;
  title: string;
  /** What the value is: the input or the result of a call. */
  subject: string;
  value: unknown;
  schema?: Schema;
  onClose: () => void;
  /** The actions. */
  footer?: ReactNode;
}

/** A complete value, as fields or as JSON. */
export function Review({ id, title, subject, value, schema, onClose, footer }: Props) {
  const body = useRef<HTMLElement>(null);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="review"
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            // Focus the content, not the first button.
            event.preventDefault();
            body.current?.focus();
          }}
        >
          <Layer>
            <header className="review__head">
              <Dialog.Title className="review__title">
                <Untrusted text={title} /> <span className="review__subject">{subject}</span>
              </Dialog.Title>
              <CopyButton text={() => jsonText(value)} label="Copy JSON" />
              <Dialog.Close className="icon-button" aria-label="Close the full view" title="Close">
                <X size={16} aria-hidden="true" />
              </Dialog.Close>
            </header>
            <ReviewTabs {...{ id, title, subject, value, schema }} container={body} />
            {footer && <footer className="review__foot">{footer}</footer>}
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

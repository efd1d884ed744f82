import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { Layer } from "../shell/layer";
import { Untrusted } from "../text/Untrusted";

interface Props {
  title: string;
  /** What is decided here. */
  subject: string;
  onClose: () => void;
  /** Moves the focus back, once the dialog is gone. */
  onGone: () => void;
  children: ReactNode;
  footer: ReactNode;
}

/** A dialog in which a person prepares a decision. Escape closes it, and decides nothing. */
export function DecisionDialog({ title, subject, onClose, onGone, children, footer }: Props) {
  const dialog = useRef<HTMLDivElement>(null);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          ref={dialog}
          className="review edit"
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            const first =
              dialog.current?.querySelector<HTMLElement>("[data-autofocus]") ??
              dialog.current?.querySelector<HTMLElement>(".edit__body :is(input, textarea, select)");
            if (!first) return;
            event.preventDefault();
            first.focus();
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            onGone();
          }}
          // A click beside the dialog would lose sight of what was written.
          onInteractOutside={(event) => event.preventDefault()}
        >
          <Layer>
            <header className="review__head">
              <Dialog.Title className="review__title">
                <Untrusted text={title} /> <span className="review__subject">{subject}</span>
              </Dialog.Title>
              <Dialog.Close className="icon-button" aria-label="Close without deciding" title="Close">
                <X size={16} aria-hidden="true" />
              </Dialog.Close>
            </header>
            {children}
            <footer className="review__foot">{footer}</footer>
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

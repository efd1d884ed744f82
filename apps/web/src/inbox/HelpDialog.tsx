import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { Layer } from "../shell/layer";
import { KEYS } from "./keys";

/** The keys of the inbox. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog help" aria-describedby={undefined}>
          <Layer>
            <header className="help__head">
              <Dialog.Title className="dialog__title">Keys</Dialog.Title>
              <Dialog.Close className="icon-button" aria-label="Close the help" title="Close">
                <X size={16} aria-hidden="true" />
              </Dialog.Close>
            </header>
            <dl className="help__keys">
              {KEYS.map(({ shown, text }) => (
                <div key={shown}>
                  <dt>
                    <kbd>{shown}</kbd>
                  </dt>
                  <dd>{text}</dd>
                </div>
              ))}
              <div>
                <dt>
                  <kbd>⌘K</kbd> <kbd>Ctrl K</kbd>
                </dt>
                <dd>Commands</dd>
              </div>
            </dl>
            <p className="dialog__text">
              No key does anything while you type, or right after the list has moved by itself.
            </p>
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

import { Dialog } from "radix-ui";
import type { ReactNode } from "react";
import { Layer } from "./layer";

interface Props {
  title: string;
  side: "left" | "right";
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** On a narrow screen, shows a side panel over the chat. */
export function Sheet({ title, side, isOpen, onClose, children }: Props) {
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(next) => {
        if (!next) onClose();
      }}
    >
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="sheet" data-side={side} aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">{title}</Dialog.Title>
          <Layer>{children}</Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

import { X } from "lucide-react";
import { Dialog, Tabs } from "radix-ui";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { CopyButton } from "../shell/CopyButton";
import { Layer } from "../shell/layer";
import { Untrusted } from "../text/Untrusted";
import { JsonLines, jsonLinesOf } from "./JsonLines";
import { jsonText } from "./json";
import { Lines } from "./Lines";
import { linesOf } from "./lines";
import { ReviewBody } from "./ReviewBody";
import type { Schema } from "./schema";
import { jsonIdOf } from "./useUnread";

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
  const [view, setView] = useState<"fields" | "json">("fields");
  const body = useRef<HTMLElement>(null);
  const json = useMemo(() => jsonText(value), [value]);
  const lines = useMemo(() => linesOf(value, schema), [value, schema]);
  const jsonLines = useMemo(() => jsonLinesOf(json), [json]);
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
              <CopyButton text={() => json} label="Copy JSON" />
              <Dialog.Close className="icon-button" aria-label="Close the full view" title="Close">
                <X size={16} aria-hidden="true" />
              </Dialog.Close>
            </header>
            <Tabs.Root
              className="review__tabs"
              value={view}
              onValueChange={(next) => setView(next === "json" ? "json" : "fields")}
            >
              <Tabs.List className="review__list" aria-label="View as">
                <Tabs.Trigger value="fields" className="dock__tab">
                  Fields
                </Tabs.Trigger>
                <Tabs.Trigger value="json" className="dock__tab">
                  JSON
                </Tabs.Trigger>
              </Tabs.List>
              <Tabs.Content value="fields" className="review__content" tabIndex={-1}>
                <ReviewBody container={body} id={id} label={`${subject}, ${lines.length} lines`} count={lines.length}>
                  {(limit) => <Lines caption={`${title}, ${subject}`} lines={lines} limit={limit} />}
                </ReviewBody>
              </Tabs.Content>
              <Tabs.Content value="json" className="review__content" tabIndex={-1}>
                <ReviewBody
                  id={jsonIdOf(id)}
                  label={`${subject} as JSON, ${jsonLines.length} lines`}
                  count={jsonLines.length}
                >
                  {(limit) => <JsonLines lines={jsonLines} limit={limit} />}
                </ReviewBody>
              </Tabs.Content>
            </Tabs.Root>
            {footer && <footer className="review__foot">{footer}</footer>}
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

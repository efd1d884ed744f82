import { Tabs } from "radix-ui";
import { type RefObject, useMemo, useState } from "react";
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
  /** The scrollable part of the fields. */
  container?: RefObject<HTMLElement | null>;
}

/** A complete value, as fields or as JSON. */
export function ReviewTabs({ id, title, subject, value, schema, container }: Props) {
  const [view, setView] = useState<"fields" | "json">("fields");
  const lines = useMemo(() => linesOf(value, schema), [value, schema]);
  const jsonLines = useMemo(() => jsonLinesOf(jsonText(value)), [value]);
  return (
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
        <ReviewBody
          {...(container && { container })}
          id={id}
          label={`${subject}, ${lines.length} lines`}
          count={lines.length}
        >
          {(limit) => <Lines caption={`${title}, ${subject}`} lines={lines} limit={limit} />}
        </ReviewBody>
      </Tabs.Content>
      <Tabs.Content value="json" className="review__content" tabIndex={-1}>
        <ReviewBody id={jsonIdOf(id)} label={`${subject} as JSON, ${jsonLines.length} lines`} count={jsonLines.length}>
          {(limit) => <JsonLines lines={jsonLines} limit={limit} />}
        </ReviewBody>
      </Tabs.Content>
    </Tabs.Root>
  );
}

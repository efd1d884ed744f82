import { ExternalLink, PanelRight } from "lucide-react";
import { openPage } from "../panel/pages";
import type { AnyToolPart } from "./toolStatus";

interface Props {
  part: AnyToolPart;
  /** Runs the call again, for a server that still waits for it. */
  onRetry: () => void;
}

/** The page can always be opened by hand, whatever became of the call. */
export function OpenUrlRow({ part, onRetry }: Props) {
  const page = pageOf(part.input);
  if (page === undefined || part.state === "input-streaming") return null;
  const isHeld = part.state === "input-available";
  return (
    <div className="tool-card__row">
      <button type="button" className="button" onClick={() => (isHeld ? onRetry() : openPage(page))}>
        <PanelRight size={15} aria-hidden="true" />
        Open
      </button>
      <a className="button" href={page.url} target="_blank" rel="noreferrer noopener">
        <ExternalLink size={15} aria-hidden="true" />
        New tab
      </a>
    </div>
  );
}

function pageOf(input: unknown): { url: string; title?: string } | undefined {
  if (typeof input !== "object" || input === null || !("url" in input) || typeof input.url !== "string")
    return undefined;
  // The server checks the schema; a capture from a file has been checked by nobody.
  if (!/^https?:\/\//i.test(input.url)) return undefined;
  const title = "title" in input && typeof input.title === "string" ? input.title : undefined;
  return { url: input.url, ...(title !== undefined && { title }) };
}

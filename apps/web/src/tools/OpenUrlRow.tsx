import { ExternalLink, PanelRight } from "lucide-react";
import { openPage } from "../panel/pages";
import { isObject } from "../prompt/isObject";

interface Props {
  input: unknown;
  /** The server still waits for the result. */
  isWaiting: boolean;
  /** Runs the call again, while the server still waits for it. */
  onRetry: () => void;
}

/** Opens the page by hand, whatever the outcome of the call. */
export function OpenUrlRow({ input, isWaiting, onRetry }: Props) {
  const page = pageOf(input);
  if (page === undefined) return null;
  return (
    <div className="tool-card__row">
      <button type="button" className="button" onClick={() => (isWaiting ? onRetry() : open(page))}>
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

/** The panel shows whether it worked. */
function open(page: { url: string; title?: string }): void {
  openPage(page).catch(() => undefined);
}

function pageOf(input: unknown): { url: string; title?: string } | undefined {
  if (!isObject(input) || typeof input.url !== "string") return undefined;
  // The server validates the input, but a capture file has not been validated.
  if (!/^https?:\/\//i.test(input.url)) return undefined;
  return { url: input.url, ...(typeof input.title === "string" && { title: input.title }) };
}

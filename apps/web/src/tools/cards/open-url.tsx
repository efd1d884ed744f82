import { openUrl } from "holdpoint/demo";
import { ExternalLink, Globe, PanelRight } from "lucide-react";
import { openPage } from "../../panel/pages";
import { isObject } from "../../prompt/isObject";
import type { CardBodyProps, CardEntry } from "../cardEntry";

export default {
  tool: "open-url",
  icon: Globe,
  headline: (input) => {
    const page = pageOf(input);
    return page && URL.canParse(page.url) ? `Open ${new URL(page.url).host}` : undefined;
  },
  body: OpenUrlRow,
  bodyRetries: true,
  handler: openUrl({ open: openPage }),
} satisfies CardEntry;

/** Opens the page by hand, whatever the outcome of the call. */
function OpenUrlRow({ call: { input, state }, onRetry }: CardBodyProps) {
  const page = pageOf(input);
  if (page === undefined) return null;
  return (
    <div className="tool-card__row">
      <button type="button" className="button" onClick={() => (state.kind === "running" ? onRetry() : open(page))}>
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

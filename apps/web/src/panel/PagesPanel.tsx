import { CircleAlert, ExternalLink, Globe, RotateCcw, X } from "lucide-react";
import { useStore } from "../store";
import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import { closePage, frameLoaded, type Page, pagesStore, reloadPage, showPage } from "./pages";

/** The pages that `open-url` opened, newest on top. */
export function PagesPanel() {
  const { stack, current } = useStore(pagesStore);
  if (stack.length === 0) {
    return (
      <div className="empty">
        <Globe size={26} aria-hidden="true" />
        <h2>No pages open</h2>
        <p>When the assistant opens a web page, it appears here. Try “open https://example.com”.</p>
      </div>
    );
  }
  return (
    <div className="pages">
      <ul className="pages__tabs" aria-label="Open pages">
        {stack.map((page) => (
          <li key={page.key} className="pages__tab" data-current={page.key === current}>
            <button
              type="button"
              aria-pressed={page.key === current}
              title={visible(page.url)}
              onClick={() => showPage(page.key)}
            >
              <Untrusted text={nameOf(page)} />
            </button>
            <button type="button" aria-label={`Close ${visible(nameOf(page))}`} onClick={() => closePage(page.key)}>
              <X size={13} aria-hidden="true" />
            </button>
          </li>
        ))}
      </ul>
      {stack.map((page) => (
        <PageView key={page.key} page={page} isShown={page.key === current} />
      ))}
    </div>
  );
}

function PageView({ page, isShown }: { page: Page; isShown: boolean }) {
  return (
    <div className="pages__view" hidden={!isShown} data-page={page.state.kind}>
      <p className="pages__address">
        <span>
          <Untrusted text={page.url} />
        </span>
        <button
          type="button"
          className="icon-button"
          aria-label="Load it again"
          title="Load it again"
          onClick={() => reloadPage(page.key)}
        >
          <RotateCcw size={14} aria-hidden="true" />
        </button>
        <a
          className="icon-button"
          href={page.url}
          target="_blank"
          rel="noreferrer noopener"
          aria-label="Open in a new tab"
          title="Open in a new tab"
        >
          <ExternalLink size={14} aria-hidden="true" />
        </a>
      </p>
      <PageNote page={page} />
      {/* Without allow-same-origin the page has no access to the console, even if served from the same host. */}
      <iframe
        key={page.attempt}
        title={visible(nameOf(page))}
        src={page.url}
        sandbox="allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox"
        referrerPolicy="no-referrer"
        loading="eager"
        onLoad={() => frameLoaded(page.key)}
      />
    </div>
  );
}

/** What is known about the page, and no more. */
function PageNote({ page: { state } }: { page: Page }) {
  switch (state.kind) {
    case "loading":
      return (
        <p className="pages__note" role="status">
          Loading…
        </p>
      );
    case "unconfirmed":
      return (
        <p className="pages__note">
          Empty below? Some sites do not allow to be shown inside another page, and a browser does not tell. Open those
          in a new tab.
        </p>
      );
    case "failed":
      return (
        <p className="pages__note" data-tone="bad" role="alert">
          <CircleAlert size={14} aria-hidden="true" />
          <Untrusted text={state.reason} />
        </p>
      );
  }
}

function nameOf({ title, url }: Page): string {
  if (title) return title;
  return URL.canParse(url) ? new URL(url).host : url;
}

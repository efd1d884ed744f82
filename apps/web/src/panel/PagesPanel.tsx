import { ExternalLink, Globe, X } from "lucide-react";
import { useStore } from "../store";
import { closePage, type Page, pagesStore, showPage } from "./pages";

/** The pages that `open-url` has opened, the newest on top. */
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
              title={page.url}
              onClick={() => showPage(page.key)}
            >
              {nameOf(page)}
            </button>
            <button type="button" aria-label={`Close ${nameOf(page)}`} onClick={() => closePage(page.key)}>
              <X size={13} aria-hidden="true" />
            </button>
          </li>
        ))}
      </ul>
      {stack.map((page) => (
        <div key={page.key} className="pages__view" hidden={page.key !== current}>
          <p className="pages__address">
            <span>{page.url}</span>
            <a
              href={page.url}
              target="_blank"
              rel="noreferrer noopener"
              aria-label="Open in a new tab"
              title="Open in a new tab"
            >
              <ExternalLink size={14} aria-hidden="true" />
            </a>
          </p>
          {/* Without allow-same-origin the page is a stranger to the console, even if it is served from the same host. */}
          <iframe
            title={nameOf(page)}
            src={page.url}
            sandbox="allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox"
            referrerPolicy="no-referrer"
            loading="eager"
          />
        </div>
      ))}
      <p className="pages__note">Some sites do not allow to be shown inside another page; open those in a new tab.</p>
    </div>
  );
}

function nameOf({ title, url }: Page): string {
  if (title) return title;
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

import type { ToolHandler } from "./tool-handler.js";

/** What a page is opened with. */
export type OpenUrlRequest = {
  /** The address, `http:` or `https:` only. */
  url: string;
  /** What to call it. */
  title?: string;
};

/** What became of a page that was opened. One that was refused or can't be reached is thrown as an error. */
export type OpenedUrl = {
  /** The key of its view; left out, one is made. */
  viewKey?: string | undefined;
  /** `loaded`: it was seen to load. `unconfirmed`: it was opened, and the browser does not tell whether it loaded. */
  state: "loaded" | "unconfirmed";
};

/**
 * The handler of `open-url`: gives the address to a function of yours that shows it (a panel, a tab), and answers `{url, viewKey}`,
 * and `state` where the function says it. The model is told what the function says: it returns once it knows, and throws where the page is
 * not shown. A bare key, or nothing, says that the page was opened, and no more.
 */
export function openUrl(options: {
  open: (request: OpenUrlRequest) => OpenedUrl | string | undefined | Promise<OpenedUrl | string | undefined>;
}): ToolHandler {
  return async (input, call) => {
    const { url, title } = (input ?? {}) as { url?: unknown; title?: unknown };
    if (typeof url !== "string") throw new Error("There is no address to open.");
    const address = checked(url);
    const opened = await options.open({ url: address, ...(typeof title === "string" && { title }) });
    const { viewKey, state }: Partial<OpenedUrl> = typeof opened === "object" ? opened : { viewKey: opened };
    return { url: address, viewKey: viewKey ?? `view-${call.toolCallId}`, ...(state !== undefined && { state }) };
  };
}

/** A model may write anything: `javascript:` or `data:` would run in the page that opens it. */
function checked(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new Error(`This is no web address: ${url}`);
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new Error(`Only http and https addresses can be opened, not ${parsed.protocol}`);
  }
  return url;
}

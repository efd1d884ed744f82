import type { ToolHandler } from "./tool-handler.js";

/** What a page is opened with. */
export type OpenUrlRequest = {
  /** The address, `http:` or `https:` only. */
  url: string;
  /** What to call it. */
  title?: string;
};

/**
 * The handler of `open-url`: gives the address to a function of yours that shows it (a panel, a tab), and answers
 * `{url, viewKey}`. The function returns the key of the view that it opened, or nothing to have one made.
 */
export function openUrl(options: {
  open: (request: OpenUrlRequest) => string | undefined | Promise<string | undefined>;
}): ToolHandler {
  return async (input, call) => {
    const { url, title } = (input ?? {}) as { url?: unknown; title?: unknown };
    if (typeof url !== "string") throw new Error("There is no address to open.");
    const address = checked(url);
    const viewKey = await options.open({ url: address, ...(typeof title === "string" && { title }) });
    return { url: address, viewKey: viewKey ?? `view-${call.toolCallId}` };
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

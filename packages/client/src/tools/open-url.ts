import type { ToolHandler } from "./tool-handler.js";

/** The input of `open-url`. */
export type OpenUrlRequest = {
  /** The address, `http:` or `https:` only. */
  url: string;
  /** A title for the page. */
  title?: string;
  /** Aborted when the call is over: whether the page loads is of no interest any more. */
  signal: AbortSignal;
};

/** The result of opening a page. A page that was refused or is unreachable throws instead. */
export type OpenedUrl = {
  /** The key of its view. Generated if omitted. */
  viewKey?: string | undefined;
  /** `loaded`: it was seen to load. `unconfirmed`: it was opened, but the browser does not report whether it loaded. */
  state: "loaded" | "unconfirmed";
};

/**
 * Creates the handler of `open-url`: passes the address to your function, which shows it (in a panel or a tab), and
 * returns `{url, viewKey}`, with `state` if the function reports one. The function should return once it knows the
 * result, and throw if the page is not shown: the model sees either. A bare key, or nothing, means only that the page
 * was opened.
 */
export function openUrl(options: {
  open: (request: OpenUrlRequest) => OpenedUrl | string | undefined | Promise<OpenedUrl | string | undefined>;
}): ToolHandler<unknown, { url: string; viewKey: string; state?: OpenedUrl["state"] }> {
  return async (input, call) => {
    const { url, title } = (input ?? {}) as { url?: unknown; title?: unknown };
    if (typeof url !== "string") throw new Error("There is no address to open.");
    const address = checked(url);
    const { signal } = call;
    const opened = await options.open({ url: address, ...(typeof title === "string" && { title }), signal });
    const { viewKey, state }: Partial<OpenedUrl> = typeof opened === "object" ? opened : { viewKey: opened };
    return { url: address, viewKey: viewKey ?? `view-${call.toolCallId}`, ...(state !== undefined && { state }) };
  };
}

/** A model may write anything: `javascript:` or `data:` would run in the opening page. */
function checked(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new Error(`Not a valid URL: ${url}`);
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new Error(`Only http and https addresses can be opened, not ${parsed.protocol}`);
  }
  return url;
}

/** Handlers for the browser tools of the demo server. An application has tools and handlers of its own. */
import type { ToolHandler } from "./tools/tool-handler.js";

/** The output of `get_location`. */
export type FoundLocation = {
  latitude: number;
  longitude: number;
  /** In metres. */
  accuracy: number;
  altitude: number | null;
  altitudeAccuracy: number | null;
  heading: number | null;
  speed: number | null;
  /** ISO 8601. */
  timestamp: string;
};

/**
 * Creates the handler of `get_location`, which reads the browser's location. The browser asks the user for permission;
 * a refusal is reported to the model.
 */
export function getLocation(
  options: { geolocation?: Geolocation; position?: PositionOptions } = {},
): ToolHandler<unknown, FoundLocation> {
  return (_input, { signal }) => {
    const geolocation = options.geolocation ?? globalThis.navigator?.geolocation;
    if (geolocation === undefined) throw new Error("This browser has no geolocation.");
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      // The browser can't be told to stop looking.
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      geolocation.getCurrentPosition(
        ({ coords, timestamp }) =>
          resolve({
            latitude: coords.latitude,
            longitude: coords.longitude,
            accuracy: coords.accuracy,
            altitude: coords.altitude,
            altitudeAccuracy: coords.altitudeAccuracy,
            heading: coords.heading,
            speed: coords.speed,
            timestamp: new Date(timestamp).toISOString(),
          }),
        // A GeolocationPositionError is not an Error.
        ({ message, code }) => reject(new Error(message || (REASONS[code] ?? "The location could not be found."))),
        options.position,
      );
    });
  };
}

const REASONS: Record<number, string> = {
  1: "The user did not allow access to the location.",
  2: "The location could not be found.",
  3: "Finding the location took too long.",
};

/** The input of `open-url`. */
export type OpenUrlRequest = {
  /** The address, `http:` or `https:` only. */
  url: string;
  /** A title for the page. */
  title?: string;
  /** Aborted when the call is over: whether the page loads no longer matters. */
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

/**
 * Creates the handler of `change_bgm`: passes the track number to your function, which plays it, with a signal that is
 * aborted when the page leaves the chat. The turn does not wait for the result.
 */
export function changeBgm(options: {
  play: (track: number, signal: AbortSignal) => unknown | Promise<unknown>;
}): ToolHandler<unknown, { success: true; track: number }> {
  return async (input, { signal }) => {
    const { track } = (input ?? {}) as { track?: unknown };
    if (typeof track !== "number") throw new Error("There is no track to play.");
    await options.play(track, signal);
    return { success: true, track };
  };
}

import type { ToolHandler } from "./tool-handler.js";

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

import type { ToolHandler } from "holdpoint";
import { getLocation, openUrl } from "holdpoint/demo";

/**
 * The tools that run in this page, by name. In the server's settings they have `execution = "frontend"`. What a handler
 * returns is the tool's output. What it throws is reported to the model.
 */
export const browserTools: ReadonlyMap<string, ToolHandler> = new Map<string, ToolHandler>([
  ["get_location", getLocation()],
  ["open-url", openUrl({ open: openTab })],
]);

function openTab({ url }: { url: string }): { state: "unconfirmed" } {
  const tab = window.open(url, "_blank");
  if (tab === null) throw new Error("The browser did not allow a new tab.");
  tab.opener = null;
  return { state: "unconfirmed" };
}

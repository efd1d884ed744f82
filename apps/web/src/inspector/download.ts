import { saveFile } from "../shell/saveFile";

/** Offers a capture as a file download. */
export function download(name: string, text: string): void {
  saveFile(name, new Blob([text], { type: "text/event-stream" }));
}

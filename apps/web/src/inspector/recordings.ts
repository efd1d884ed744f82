import { keyStore } from "../api/key";
import { continued, Recorder } from "./recorder";
import { forgetAllRecordings, forgetRecording, readRecording, writeRecording } from "./storage";

/** How long after a change it is stored. A page that is left stores at once. */
const SAVE_MS = 1_000;

const recorders = new Map<string, Recorder>();
const unsaved = new Map<string, ReturnType<typeof setTimeout>>();

/** The recording of a chat. It survives a switch of chats and a reload of the page, and ends with the tab. */
export function recorderOf(chatId: string): Recorder {
  const known = recorders.get(chatId);
  if (known) return known;
  const stored = readRecording(sessionStorage, chatId);
  const recorder = stored ? continued(stored, performance.timeOrigin) : new Recorder();
  recorders.set(chatId, recorder);
  recorder.subscribe(() => {
    if (recorders.get(chatId) !== recorder || unsaved.has(chatId)) return;
    unsaved.set(
      chatId,
      setTimeout(() => save(chatId), SAVE_MS),
    );
  });
  return recorder;
}

/** Drops the recording of a deleted chat. */
export function forgetChat(chatId: string): void {
  clearTimeout(unsaved.get(chatId));
  unsaved.delete(chatId);
  recorders.get(chatId)?.clear();
  recorders.delete(chatId);
  forgetRecording(sessionStorage, chatId);
}

function save(chatId: string): void {
  clearTimeout(unsaved.get(chatId));
  unsaved.delete(chatId);
  const recorder = recorders.get(chatId);
  if (recorder) writeRecording(sessionStorage, chatId, recorder.current());
}

window.addEventListener("pagehide", () => {
  for (const chatId of [...unsaved.keys()]) save(chatId);
});

// Another key is another user, who must not see this one's traffic.
let { key } = keyStore.read();
keyStore.subscribe(() => {
  const before = key;
  key = keyStore.read().key;
  if (before === undefined || before === key) return;
  for (const chatId of [...recorders.keys()]) forgetChat(chatId);
  forgetAllRecordings(sessionStorage);
});

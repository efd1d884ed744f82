import type { UserAnswer, UserPrompt } from "holdpoint";
import { createStore } from "../store";

type Answer = (answer: UserAnswer) => void;

/** The prompts that wait for an answer in their card, by call. */
export const promptsStore = createStore<ReadonlyMap<string, Answer>>(new Map());

/** Waits for the answer from the call's card. A withdrawn prompt is removed. */
export function promptInCard({ toolCallId, signal }: UserPrompt): Promise<UserAnswer> {
  return new Promise((resolve, reject) => {
    const answer: Answer = (given) => {
      close();
      resolve(given);
    };
    const close = () => {
      // It was opened again meanwhile: keep the new one.
      if (promptsStore.read().get(toolCallId) !== answer) return;
      promptsStore.write((open) => new Map([...open].filter(([call]) => call !== toolCallId)));
    };
    promptsStore.write((open) => new Map([...open, [toolCallId, answer]]));
    signal.addEventListener("abort", () => {
      close();
      reject(new Error("The prompt was withdrawn."));
    });
  });
}

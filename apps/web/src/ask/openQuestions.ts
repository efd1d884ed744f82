import type { UserAnswer, UserQuestion } from "holdpoint";
import { createStore } from "../store";

type Answer = (answer: UserAnswer) => void;

/** The questions that wait for their card's form, by call. */
export const questionsStore = createStore<ReadonlyMap<string, Answer>>(new Map());

/** Waits for what the call's card answers. A question that is taken back is gone from there. */
export function askInCard({ toolCallId, signal }: UserQuestion): Promise<UserAnswer> {
  return new Promise((resolve, reject) => {
    const answer: Answer = (given) => {
      close();
      resolve(given);
    };
    const close = () => {
      // Asked again meanwhile: that one stays.
      if (questionsStore.read().get(toolCallId) !== answer) return;
      questionsStore.write((open) => new Map([...open].filter(([call]) => call !== toolCallId)));
    };
    questionsStore.write((open) => new Map([...open, [toolCallId, answer]]));
    signal.addEventListener("abort", () => {
      close();
      reject(new Error("The question was taken back."));
    });
  });
}

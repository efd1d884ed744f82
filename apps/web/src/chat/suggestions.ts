/** One request for each demo flow. */
export interface Suggestion {
  text: string;
  shows: string;
  lang?: string;
}

export const SUGGESTIONS: readonly Suggestion[] = [
  { text: "send 50 dollars to Hanako", shows: "A payment that waits for your approval" },
  { text: "what's the weather in Tokyo", shows: "A tool on the server, no questions asked" },
  { text: "where am I", shows: "Your approval, then your browser's location" },
  { text: "play track 1", shows: "Handed to the browser, not waited for" },
  { text: "open https://example.com", shows: "Your browser opens a page and reports back" },
  { text: "find inactive users and deactivate them", shows: "Two approvals, one after the other" },
  { text: "Aliceに30ドル、Bobに40ドル送金してください", shows: "Two payments at once, in Japanese", lang: "ja" },
];

/** One prompt for each demo flow. */
export interface Suggestion {
  text: string;
  shows: string;
  /** The tool that it needs. */
  tool: string;
  lang?: string;
}

export const SUGGESTIONS: readonly Suggestion[] = [
  { text: "send 50 dollars to Hanako", shows: "A payment that waits for your approval", tool: "process_payment" },
  { text: "what's the weather in Tokyo", shows: "A tool on the server, no questions asked", tool: "get_weather" },
  { text: "where am I", shows: "Your approval, then your browser's location", tool: "get_location" },
  { text: "play track 1", shows: "Handed to the browser, not waited for", tool: "change_bgm" },
  { text: "open https://example.com", shows: "Your browser opens a page and reports back", tool: "open-url" },
  {
    text: "find inactive users and deactivate them",
    shows: "Two approvals, one after the other",
    tool: "update_database",
  },
  {
    text: "Aliceに30ドル、Bobに40ドル送金してください",
    shows: "Two payments at once, in Japanese",
    tool: "process_payment",
    lang: "ja",
  },
];

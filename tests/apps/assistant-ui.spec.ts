import type { App } from "./support/app";
import { CardPage } from "./support/card-page";
import { playQuorum } from "./support/quorum";
import { playScenarios } from "./support/scenarios";

const app: App = {
  name: "assistant-ui",
  example: "assistant-ui",
  key: "the-key-of-the-app-7e21",
  isOpen: true,
  serve: (port) => ["run", "preview", "--", "--host", "127.0.0.1", "--port", String(port), "--strictPort"],
  page: (page, address, chatId) => new CardPage(page, address, chatId),
};

playScenarios(app);
playQuorum();

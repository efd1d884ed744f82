import type { App } from "./support/app";
import { CardPage } from "./support/card-page";
import { playScenarios } from "./support/scenarios";

/** assistant-ui's own runtime and transport, with nothing of ours but `chats.messages`. */
const app: App = {
  name: "stock-assistant-ui",
  example: "tests/apps/stock/assistant-ui",
  serve: (port) => ["run", "preview", "--", "--host", "127.0.0.1", "--port", String(port), "--strictPort"],
  page: (page, address, chatId) => new CardPage(page, address, chatId),
};

playScenarios(app);

// What the client looks up in the SDK by name, so that it can be used with versions that lack it. A bundler cannot see which
// names that are and would keep all of the SDK: here they are (see vite.config.ts).
export { DefaultChatTransport, WebSocketChatTransport } from "ai";

import { createResource } from "./resource";
import type { ChatInfo, ToolInfo } from "./types";

export const toolsStore = createResource<ToolInfo[]>({ path: "/api/tools" });

export const chatsStore = createResource<ChatInfo[]>({
  path: "/api/chats",
  isTouchedBy: (event) => event.type === "chat" || event.type === "approvals",
});

import type { UseHoldpointHelpers } from "holdpoint/react";
import { createContext, useContext } from "react";
import type { AgentMessage } from "./agent";

const Context = createContext<UseHoldpointHelpers<AgentMessage> | undefined>(undefined);

/** What `useHoldpoint` returns, for what assistant-ui has no place for: decisions under way, the connection. */
export const AgentChat = Context.Provider;

export function useAgentChat(): UseHoldpointHelpers<AgentMessage> {
  const chat = useContext(Context);
  if (chat === undefined) throw new Error("useAgentChat is used outside of AgentChat.");
  return chat;
}

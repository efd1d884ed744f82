import type { UIDataTypes, UIMessage } from "ai";
import type { ToolHandlersOf } from "holdpoint";
import { type FoundLocation, getLocation } from "holdpoint/demo";

/** The tools whose types this app knows. The agent may have more: their calls are shown too. */
type Tools = {
  process_payment: {
    input: { amount: number; recipient: string; currency: string; description?: string };
    output: { success: boolean; transaction_id: string; wallet_balance: number };
  };
  get_location: { input: Record<string, never>; output: FoundLocation };
};

export type AgentMessage = UIMessage<unknown, UIDataTypes, Tools>;

/**
 * The tools that run in this browser. Names, inputs and outputs are checked against `Tools`. What a handler returns is
 * the tool's output; what it throws is reported to the model.
 */
export const handlers: ToolHandlersOf<AgentMessage> = {
  get_location: getLocation(),
};

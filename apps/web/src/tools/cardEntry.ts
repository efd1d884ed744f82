import type { ToolHandler, ToolProgress } from "holdpoint";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { CallLookup } from "../chat/callRecords";
import type { Call } from "./CallCard";
import type { AnyToolPart } from "./callStatus";

/** What a card's own content gets. */
export interface CardBodyProps {
  call: Call;
  /** The progress of the call in this page. */
  run: ToolProgress | undefined;
  /** Runs the call again, while the server still waits for it. */
  onRetry: () => void;
}

/**
 * How the console shows the calls of one tool, and what this browser does for it. A card is one file in `cards`, which
 * exports it as its default; everything but the icon may be left out.
 */
export interface CardEntry {
  /** The tool's name. */
  tool: string;
  icon: LucideIcon;
  /**
   * The card's headline, for an input of which nothing is certain; `undefined` for the tool's title. The input itself
   * is shown whatever it says.
   */
  headline?: (input: unknown) => string | undefined;
  /** What is asked while the call waits for a decision, instead of "May the assistant do this?". */
  question?: string;
  /** The assistant did not make the call, and is not told that it was denied. */
  isUntold?: boolean;
  /** Rendered at the end of the card, in a chat. */
  body?: ComponentType<CardBodyProps>;
  /** The body has its own button to run the call again. */
  bodyRetries?: boolean;
  /** Rendered instead of the usual card, in a chat. */
  whole?: ComponentType<{ part: AnyToolPart; lookup: CallLookup }>;
  /** What this browser does for a call. */
  handler?: ToolHandler;
  /** The browser permission that the handler needs. */
  permission?: PermissionName;
}

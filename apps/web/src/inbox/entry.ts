import type { Allowed, PendingApproval } from "holdpoint/protocol";
import type { ToolSpec } from "../api/types";
import { type HeadlinePiece, headlineOf, headlineText } from "../tools/headline";
import type { Schema } from "../value/schema";

/** How an approval request is presented, wherever it is listed. */
export interface Presented {
  title: string;
  description: string | undefined;
  schema: Schema;
  headline: readonly HeadlinePiece[];
  /** The headline as one visible line, for attributes and announcements. */
  subject: string;
}

/** The request's own words come first: a chat may have tools of its own. */
export function present(entry: PendingApproval, tool?: ToolSpec): Presented {
  const { toolName, input } = entry;
  const title = entry.title ?? tool?.title ?? toolName;
  const schema = entry.inputSchema ?? tool?.inputSchema;
  const headline = headlineOf({ toolName, title, input, schema, template: entry.headline });
  return {
    title,
    description: entry.description ?? tool?.description,
    schema,
    headline,
    subject: headlineText(headline),
  };
}

/** Whether this user may make a decision of a kind. */
export function allows({ allowed }: Pick<PendingApproval, "allowed">, what: Allowed): boolean {
  return allowed.includes(what);
}

/** `now`, `5 min`, `3 h`, `2 days`. */
export function ageText(iso: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h`;
  const days = Math.floor(hours / 24);
  return days === 1 ? "1 day" : `${days} days`;
}

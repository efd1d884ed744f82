import type { Cause, SettledMetadata } from "../protocol.js";

const CAUSES: ReadonlySet<unknown> = new Set<Cause>([
  "ran",
  "result",
  "decision",
  "expired",
  "stopped",
  "superseded",
  "interrupted",
  "refused",
]);

/**
 * The cause of a call's outcome and its decision, as the server stores them in a settled tool part of `/messages`.
 * Returns `undefined` for a streamed part, and for a cause that this version does not know.
 */
export function settledMetadata(part: unknown): SettledMetadata | undefined {
  const fields = field(field(part, "callProviderMetadata"), "holdpoint");
  const cause = field(fields, "cause");
  if (!CAUSES.has(cause)) return undefined;
  const decidedBy = field(fields, "decidedBy");
  const decidedAt = field(fields, "decidedAt");
  const grant = field(fields, "grant");
  return {
    cause: cause as Cause,
    decidedBy: Array.isArray(decidedBy) ? decidedBy.filter((subject) => typeof subject === "string") : [],
    ...(typeof decidedAt === "string" && { decidedAt }),
    ...(typeof grant === "string" && { grant }),
    edited: field(fields, "edited") === true,
  };
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Partial<Record<string, unknown>>)[name] : undefined;
}

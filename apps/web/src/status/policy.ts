import type { DecisionKind, ToolStatus } from "holdpoint/protocol";

/** When a tool asks. A rule is not put in words: `rule` is what the settings have. */
export function approvalOf({ approval }: Pick<ToolStatus, "approval">): { text: string; rule?: string } {
  if (approval === "always") return { text: "Asks every time" };
  if (approval === "never") return { text: "Runs without a question" };
  return { text: "Asks by a rule", rule: JSON.stringify(approval) };
}

const DECISIONS: Record<DecisionKind, string> = {
  approve: "approve",
  deny: "deny",
  edit: "change the input",
  answer: "answer in its place",
};

/** What a person may decide, and for how long. */
export function decisionsOf({ decisions, approvalTimeoutSec }: ToolStatus): string {
  const kinds = decisions.map((kind) => DECISIONS[kind]).join(", ");
  return `${kinds} · ${approvalTimeoutSec === 0 ? "no time limit" : `within ${durationOf(approvalTimeoutSec)}`}`;
}

/** Who may decide, from the wire's `{by, excludeSelf?, quorum?, escalate?}`. */
export function approversOf({ approvers }: Pick<ToolStatus, "approvers">): string {
  const { by, excludeSelf, quorum, escalate } = approvers;
  const words = [
    namesOf(by),
    ...(excludeSelf === true ? ["not the owner of the chat"] : []),
    ...(typeof quorum === "number" && quorum > 1 ? [`${quorum} people must approve`] : []),
    ...escalationOf(escalate),
  ];
  return words.join("; ");
}

function escalationOf(escalate: unknown): string[] {
  if (typeof escalate !== "object" || escalate === null || !("afterMs" in escalate) || !("to" in escalate)) return [];
  const { afterMs, to } = escalate;
  return typeof afterMs === "number" ? [`after ${durationOf(afterMs / 1000)} also ${namesOf(to)}`] : [];
}

function namesOf(approvers: unknown): string {
  if (!Array.isArray(approvers) || approvers.length === 0) return "nobody";
  return approvers.map((name) => (name === "self" ? "the owner of the chat" : String(name))).join(", ");
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** In the largest unit that is exact. */
export function durationOf(seconds: number): string {
  const [name, size] = UNITS.find(([, size]) => seconds >= size && seconds % size === 0) ?? ["second", 1];
  const count = seconds / size;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

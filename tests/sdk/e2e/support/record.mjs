// The server's record of a chat: the stored messages and the holds. Every history that is read goes through `judged`.

import assert from "node:assert/strict";
import { validateUIMessages as validate6 } from "ai6";
import { validateUIMessages as validate7 } from "ai7";

export const isTool = (part) => part.type.startsWith("tool-") || part.type === "dynamic-tool";

/** The possible causes of an outcome, by the state of its part. */
const CAUSES = {
  // A browser's timeout can be an output too: of a tool that returns the ack. So can a person's answer in the tool's place.
  "output-available": ["ran", "result", "expired", "decision"],
  "output-error": ["ran", "result", "expired", "stopped", "superseded", "interrupted", "refused"],
  "output-denied": ["decision", "superseded"],
};

/** The metadata of a settled call: `{cause, decidedBy, decidedAt?, edited}`. */
export const settledOf = (part) => part.callProviderMetadata?.holdpoint;

/**
 * Both SDK versions accept the history, and every settled call, and no other, has a cause. The first `context` messages
 * were brought by the client, whose calls were not made here: they are left out. Returns the history.
 */
export async function judged(messages, { context = 0 } = {}) {
  if (messages.length > 0) {
    for (const [version, validate] of Object.entries({ 6: validate6, 7: validate7 })) {
      const refused = await validate({ messages: structuredClone(messages) }).then(
        () => null,
        (error) => error,
      );
      assert.equal(refused, null, `validateUIMessages of ai ${version} accepts ${JSON.stringify(messages)}`);
    }
  }
  const calls = (messages) => messages.flatMap(({ parts }) => parts).filter(isTool);
  assert.deepEqual(calls(messages.slice(0, context)), []);
  for (const part of calls(messages.slice(context))) judgePart(part);
  return messages;
}

function judgePart(part) {
  const told = JSON.stringify(part);
  const causes = CAUSES[part.state];
  if (!causes) return assert.equal(part.callProviderMetadata, undefined, `an open call has no cause: ${told}`);
  const { cause, decidedBy, decidedAt, edited, ...rest } = settledOf(part) ?? {};
  assert.ok(causes.includes(cause), `a cause that fits the state: ${told}`);
  assert.equal(typeof edited, "boolean", told);
  assert.ok(!edited || decidedBy.length > 0, `somebody has edited: ${told}`);
  assert.deepEqual(rest, {}, told);
  assert.ok(Array.isArray(decidedBy) && decidedBy.every((by) => typeof by === "string" && by !== ""), told);
  assert.equal(decidedBy.length > 0, decidedAt !== undefined, `a decision has its time: ${told}`);
  if (decidedAt !== undefined) assert.equal(new Date(decidedAt).toISOString(), decidedAt, told);
  // A denial is recorded if and only if it is the cause; an approval if and only if the part says so (T11).
  if (part.state === "output-denied") return assert.equal(decidedBy.length > 0, cause === "decision", told);
  if (part.approval) assert.equal(part.approval.approved, true, told);
  assert.equal(decidedBy.length > 0, part.approval !== undefined, told);
}

/** The holds agree with the calls of these messages. `holds` are all calls of the chat, read after them. */
export function agree(messages, holds) {
  for (const { id, parts } of messages) {
    for (const part of parts.filter(isTool)) {
      const hold = holds.find(({ toolCallId }) => toolCallId === part.toolCallId);
      assert.ok(hold, `${part.toolCallId} is one of ${JSON.stringify(holds)}`);
      assert.equal(hold.cut, false);
      assert.equal(hold.messageId, id);
      assert.deepEqual(hold.input, part.input);
      if (settledOf(part)) settledAlike(part, hold);
      // A denial is held back while the browser's result beside it is awaited: no SDK predicate would send it.
      else if (part.approval?.approved === false) assert.equal(hold.outcome.cause, "decision");
      else assert.notEqual(hold.state, "settled");
    }
  }
}

function settledAlike(part, { state, outcome, decision, approvalId, allowed, expiresAt }) {
  const { cause, decidedBy, decidedAt, edited } = settledOf(part);
  assert.equal(decision?.originalInput !== undefined, edited);
  assert.equal(decision?.kind === "edit", edited);
  assert.equal(state, "settled");
  assert.deepEqual(
    { cause: outcome.cause, output: outcome.output, errorText: outcome.errorText },
    { cause, output: part.output, errorText: part.errorText },
  );
  assert.deepEqual({ by: decision?.by ?? [], at: decision?.at }, { by: decidedBy, at: decidedAt });
  if (part.approval) assert.equal(approvalId, part.approval.id);
  assert.deepEqual({ allowed, expiresAt }, { allowed: [], expiresAt: undefined });
}

/** A hold's times, in order: requested, decided, settled. */
export function inOrder({ requestedAt, decision, outcome }) {
  const times = [requestedAt, decision?.at, outcome?.at].filter((time) => time !== undefined);
  for (const time of times) assert.equal(new Date(time).toISOString(), time);
  assert.deepEqual(times, times.toSorted());
}

/** A hold without its ids, input and times, which have their own checks. */
export function summary(hold) {
  inOrder(hold);
  const { kind, state, allowed, decision, outcome, cut } = hold;
  const { at: _, ...decided } = decision ?? {};
  return {
    kind,
    state,
    ...(allowed.length > 0 && { allowed }),
    ...(decision && { decision: decided }),
    ...(outcome && { cause: outcome.cause }),
    cut,
  };
}

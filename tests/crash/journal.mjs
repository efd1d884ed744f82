// The client's journal of what was sent and acknowledged, against which the server's record is checked.

export class Journal {
  /** By id: `{plan, isAcknowledged, isEnded, shown, refs, outcomes}`. */
  chats = new Map();
  /** By ref: `{plan, answers, acks, waits, question?}`, with the approval request as it was shown. */
  calls = new Map();
  /** Server responses that the contract does not allow: `{chat, ref?, text}`. */
  odd = [];
  /** Whether a node may say now that it can't serve: the database is away, or was until a moment ago. */
  mayRefuse = () => false;
  /** How often one said so. */
  refusals = 0;

  add(plan) {
    const chat = {
      plan,
      /** Whether the server has acknowledged the user's message. */
      isAcknowledged: false,
      /** Whether the chat was seen to have ended: the model's script is finished. */
      isEnded: false,
      /** Approval requests that were shown: the call by approval id. */
      shown: new Map(),
      /** The ref of each of the server's call ids. */
      refs: new Map(),
      /** Outcomes that were shown. Their call may be known only later: a replay does not repeat a settled input. */
      outcomes: [],
    };
    this.chats.set(plan.id, chat);
    for (const call of plan.calls) {
      this.calls.set(call.ref, { plan: call, answers: [], acks: [], waits: [] });
    }
    return chat;
  }

  /** An answer is sent. */
  sent(ref, way, approved) {
    this.calls.get(ref)?.answers.push({ way, approved, at: Date.now() });
  }

  /**
   * The server has acknowledged that a decision is in force: this one, or with `approved: null` an unnamed one.
   * `isFirst`: this answer put it in force. Returns the entry.
   */
  stands(ref, way, approved, { isFirst = false } = {}) {
    const ack = { way, approved, isFirst, at: Date.now() };
    this.calls.get(ref)?.acks.push(ack);
    return ack;
  }

  /** A chunk of a stream. */
  chunk(chat, way, chunk) {
    switch (chunk.type) {
      case "start":
        chat.isAcknowledged = true;
        break;
      case "tool-input-available":
        chat.refs.set(chunk.toolCallId, chunk.input.ref);
        break;
      case "tool-approval-request":
        chat.shown.set(chunk.approvalId, chunk.toolCallId);
        break;
      case "tool-output-available":
      case "tool-output-denied":
      case "tool-output-error":
        chat.outcomes.push({ ...chunk, way, at: Date.now() });
        break;
      case "error":
        this.refused(chat, `${way}: ${JSON.stringify(chunk)}`);
        break;
      case "tool-input-error":
        this.strange(chat, `${way}: ${JSON.stringify(chunk)}`);
    }
  }

  /** The holds of a chat, listed by a request that was sent at `askedAt`. */
  listed(chat, holds, askedAt) {
    for (const { toolCallId, approvalId, input, state } of holds) {
      chat.refs.set(toolCallId, input.ref);
      if (approvalId) chat.shown.set(approvalId, toolCallId);
      if (state === "waiting") this.waits(input.ref, askedAt);
    }
  }

  /** The server says that this call is waiting for a decision. */
  waits(ref, askedAt) {
    this.calls.get(ref)?.waits.push(askedAt);
  }

  /** A node said that it can't serve. */
  refused(chat, text, ref) {
    if (this.mayRefuse()) this.refusals += 1;
    else this.strange(chat, text, ref);
  }

  strange({ plan }, text, ref) {
    this.odd.push({ chat: plan.id, ref, text });
  }
}

// What this side has sent, and what the server has acknowledged: the memory against which the server's own is checked.

export class Journal {
  /** By id: `{plan, isAcknowledged, isEnded, shown, refs, outcomes}`. */
  chats = new Map();
  /** By ref: `{plan, answers, acks, waits, question?}`; the question as it was shown. */
  calls = new Map();
  /** Answers of the server that no contract allows: `{chat, ref?, text}`. */
  odd = [];

  add(plan) {
    const chat = {
      plan,
      /** Whether the server has said that it has the user's message. */
      isAcknowledged: false,
      /** Whether it was seen to be over: nothing is left for the model to play. */
      isEnded: false,
      /** Questions that somebody was shown: the call by the approval's id. */
      shown: new Map(),
      /** What each of the server's call ids stands for. */
      refs: new Map(),
      /** Outcomes that somebody was shown. Which call they are about may be known only later: a replay does not repeat a settled input. */
      outcomes: [],
    };
    this.chats.set(plan.id, chat);
    for (const call of plan.calls) {
      this.calls.set(call.ref, { plan: call, answers: [], acks: [], waits: [] });
    }
    return chat;
  }

  /** An answer goes out. */
  sent(ref, way, approved) {
    this.calls.get(ref)?.answers.push({ way, approved, at: Date.now() });
  }

  /**
   * The server has acknowledged that a decision stands: this one, or with `approved: null` one that it does not name. `isFirst`: it says that
   * this answer made it. Gives the entry.
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
      case "tool-input-error":
        this.strange(chat, `${way}: ${JSON.stringify(chunk)}`);
    }
  }

  /** The holds of a chat, as listed by a request that was sent at `askedAt`. */
  listed(chat, holds, askedAt) {
    for (const { toolCallId, approvalId, input, state } of holds) {
      chat.refs.set(toolCallId, input.ref);
      if (approvalId) chat.shown.set(approvalId, toolCallId);
      if (state === "waiting") this.waits(input.ref, askedAt);
    }
  }

  /** The server says that this call waits for its decision. */
  waits(ref, askedAt) {
    this.calls.get(ref)?.waits.push(askedAt);
  }

  strange({ plan }, text, ref) {
    this.odd.push({ chat: plan.id, ref, text });
  }
}

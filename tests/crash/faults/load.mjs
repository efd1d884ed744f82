// The crash suite's load on a server that is not killed, and its judge.

import { finish } from "../end.mjs";
import { Journal } from "../journal.mjs";
import { play } from "../load.mjs";
import { planChat, scriptOf } from "../plan.mjs";
import { Random } from "../random.mjs";
import { SEED } from "./world.mjs";

export class Load {
  journal = new Journal();
  counts = {};
  /** Whether clients may give up although the server is running, because it responds to nobody. */
  isStalled = false;
  #end = new AbortController();
  #plans;
  #chats;

  constructor(count) {
    this.#plans = Array.from({ length: count }, (_, number) => planChat(SEED, number));
    this.#chats = this.#plans.map((plan) => this.journal.add(plan));
  }

  delayOf = (ref) => this.journal.calls.get(ref)?.plan.delayMs ?? 0;

  /** The model's script, preceded by the test's own turns. */
  script(turns = []) {
    const script = scriptOf(this.#plans);
    return { ...script, turns: [...turns, ...script.turns] };
  }

  /** Runs all chats until they are done or the server is gone. */
  async play(server) {
    const context = {
      url: server.url,
      journal: this.journal,
      signal: this.#end.signal,
      event() {},
      forged() {},
      isUp: () => server.isUp && !this.isStalled,
    };
    await Promise.all(
      this.#chats.map((chat) => play(context, chat).catch((error) => this.journal.strange(chat, error.stack))),
    );
  }

  /** Aborts every request of the load. */
  abort() {
    this.#end.abort();
  }

  /** The judge's violations. The server keeps running and is not restarted. */
  judge(server, ledger) {
    const running = {
      url: server.url,
      deaths: server.deaths,
      faults: server.faults,
      start: async () => {},
      kill: () => {},
      gone: async () => {},
    };
    const random = new Random(SEED, "end");
    return finish({ server: running, ledger, journal: this.journal, random, counts: this.counts });
  }
}

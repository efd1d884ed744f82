// The wire between one node and the database, which can be cut.

import { connect, createServer } from "node:net";

/**
 * "open"; "dropped": connections break, and new ones too; "stalled": connections stay open and nothing passes; "deaf":
 * statements reach the database, and its answers do not come back.
 */
export const CUTS = ["dropped", "stalled", "deaf"];

export class Wire {
  port;
  #server = createServer((node) => this.#join(node));
  #target;
  #state = "open";
  /** `{node, database}` of each connection. */
  #pairs = new Set();

  static async to(port) {
    const wire = new Wire();
    wire.#target = port;
    await new Promise((resolve) => wire.#server.listen(0, "127.0.0.1", resolve));
    wire.port = wire.#server.address().port;
    return wire;
  }

  #join(node) {
    if (this.#state === "dropped") return node.destroy();
    const database = connect(this.#target, "127.0.0.1");
    const pair = { node, database };
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      node.destroy();
      database.destroy();
    };
    for (const [from, to] of [
      [node, database],
      [database, node],
    ]) {
      from.setNoDelay(true);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", end);
      from.on("close", end);
    }
    this.#apply(pair);
  }

  #apply({ node, database }) {
    if (this.#state === "stalled") node.pause();
    else node.resume();
    if (this.#state === "open") database.resume();
    else database.pause();
  }

  cut(state) {
    this.#state = state;
    for (const pair of this.#pairs) {
      if (state === "dropped") pair.node.destroy();
      else this.#apply(pair);
    }
  }

  /** What was held back arrives late, or never if the connections are lost. */
  heal({ isLate }) {
    this.#state = "open";
    for (const pair of this.#pairs) {
      if (isLate) this.#apply(pair);
      else pair.node.destroy();
    }
  }

  close() {
    for (const { node } of this.#pairs) node.destroy();
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

// The independent ledger: the endpoint behind the tools. It writes down every request that reaches it, and never asks the server anything.
// The HTTP tool sends the call's input and nothing else, so each call of a run has an input of its own, named by `ref`.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { pause } from "./wait.mjs";

export class Ledger {
  /** `{ref, input, arrivedAt, answeredAt?, receipt}` for each request with a whole body. */
  deliveries = [];
  /** Requests whose body broke off, as a kill can do it: nothing was done, and what they were about is not known. */
  broken = 0;
  /** Told "delivery" when a request has come and is not answered yet, and "delivered" when its answer is out. */
  onEvent = () => {};
  #server = createServer((request, response) => this.#take(request, response));
  #delayOf;

  /** `delayOf(ref)` is how long a call takes, in ms. */
  constructor(delayOf = () => 0) {
    this.#delayOf = delayOf;
  }

  async open() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.#server.address().port}/`;
  }

  close() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  of(ref) {
    return this.deliveries.filter((delivery) => delivery.ref === ref);
  }

  async #take(request, response) {
    let input;
    try {
      input = JSON.parse(await text(request));
    } catch {
      this.broken += 1;
      response.destroy();
      return;
    }
    const receipt = `receipt-${this.deliveries.length + 1}`;
    const delivery = { ref: input.ref, input, arrivedAt: Date.now(), receipt };
    this.deliveries.push(delivery);
    this.onEvent("delivery");
    await pause(this.#delayOf(input.ref));
    response.once("finish", () => {
      delivery.answeredAt = Date.now();
      this.onEvent("delivered");
    });
    response.setHeader("content-type", "application/json").end(JSON.stringify({ receipt }));
  }
}

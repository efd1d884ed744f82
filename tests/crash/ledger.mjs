// The independent ledger: the endpoint behind the tools. It records every request that reaches it, and never queries
// the server. The HTTP tool sends only the call's input, so each call of a run has a unique input, named by `ref`.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { pause } from "./wait.mjs";

export class Ledger {
  /** `{ref, input, arrivedAt, answeredAt?, receipt}` for each complete request. */
  deliveries = [];
  /** Requests whose body broke off, as a kill can cause: nothing was done, and their ref is unknown. */
  broken = 0;
  /** Called with "delivery" when a request has arrived and is unanswered, and with "delivered" once it is answered. */
  onEvent = () => {};
  #server = createServer((request, response) => this.#take(request, response));
  #delayOf;

  /** `delayOf(ref)` is the duration of a call, in ms. */
  constructor(delayOf = () => 0) {
    this.#delayOf = delayOf;
  }

  async open() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this.url;
  }

  get url() {
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

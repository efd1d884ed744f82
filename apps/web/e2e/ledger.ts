import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What an endpoint beside the server was asked to do: what really ran. */
export interface Ledger {
  url: string;
  /** The bodies of its requests, in order. */
  readonly runs: readonly unknown[];
  /** The status of the answers from now on. 200 unless said otherwise. */
  answerWith: (status: number) => void;
  /** Answers nothing from now on, until it is called. */
  hold: () => () => void;
  stop: () => Promise<void>;
}

/** Starts an endpoint for a tool on a free port. */
export async function startLedger(): Promise<Ledger> {
  const runs: unknown[] = [];
  let status = 200;
  let gate = Promise.resolve();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    runs.push(JSON.parse(body));
    const answer = status;
    await gate;
    response.writeHead(answer, { "content-type": "application/json" });
    response.end(JSON.stringify(answer === 200 ? { ref: runs.length } : { error: "the bank is closed" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/pay`,
    runs,
    answerWith: (next) => {
      status = next;
    },
    hold: () => {
      let release = () => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

// Waits for conditions, never for a fixed time.

const DEADLINE_MS = 20_000;
const EVERY_MS = 4;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until the result is truthy, and returns it; at the deadline it fails and names the condition. */
export async function until(what, ask, { within = DEADLINE_MS } = {}) {
  const deadline = Date.now() + within;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${within} ms in vain until ${what}`);
    await pause(EVERY_MS);
  }
}

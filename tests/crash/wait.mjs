// Waiting, always with a time limit.

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until the result is truthy, and returns it; returns undefined when the time is up. */
export async function until(ask, { within, every = 40 }) {
  const deadline = Date.now() + within;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) return undefined;
    await pause(every);
  }
}

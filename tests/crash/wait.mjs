// Waiting, always with an end.

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks until the answer is truthy, and gives it; gives undefined when the time is up. */
export async function until(ask, { within, every = 40 }) {
  const deadline = Date.now() + within;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) return undefined;
    await pause(every);
  }
}

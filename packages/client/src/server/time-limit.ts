/** Runs a function with a signal that aborts when the given one does, or when the time limit passes. */
export async function withTimeLimit<T>(
  ms: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limited = new AbortController();
  const abort = () => limited.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  const timer = setTimeout(
    () => limited.abort(new DOMException("The server did not answer in time.", "TimeoutError")),
    ms,
  );
  try {
    return await run(limited.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

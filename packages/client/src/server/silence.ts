/** How long a connection may be silent. The server sends a keep-alive every 15 s. */
const SILENCE_MS = 40_000;
const CHECK_MS = 5_000;

/** Says why a silent connection was given up. */
export const SILENCE_REASON = `No data from the server for ${SILENCE_MS / 1_000} s.`;

export interface SilenceWatch {
  /** Data has arrived. */
  readonly heard: () => void;
  readonly stop: () => void;
}

/**
 * Calls `onSilence` once when nothing was heard for 40 s. It counts short checks instead of waiting once: a page that
 * was suspended or too busy to read runs its timers before it reads what has arrived, and must not take its own pause
 * for the server's silence.
 */
export function watchSilence(onSilence: () => void): SilenceWatch {
  let checks = 0;
  const timer = setInterval(() => {
    checks += 1;
    if (checks < SILENCE_MS / CHECK_MS) return;
    clearInterval(timer);
    onSilence();
  }, CHECK_MS);
  const heard = () => {
    checks = 0;
  };
  return { heard, stop: () => clearInterval(timer) };
}

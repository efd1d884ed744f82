import type { ServerStatus } from "holdpoint/protocol";
import { useEffect, useState } from "react";
import { useClient } from "../api/server";

/** No event reports that an MCP server came or went. */
const READ_AGAIN_MS = 10_000;

interface Read {
  status: ServerStatus | undefined;
  /** Why the last attempt failed, until one succeeds. */
  error: Error | undefined;
  /** When `status` was read. */
  at: Date | undefined;
}

const NOTHING: Read = { status: undefined, error: undefined, at: undefined };

/** The server's status, read again and again while the page shows it. */
export function useStatus(): Read {
  const client = useClient();
  const [read, setRead] = useState(NOTHING);
  useEffect(() => {
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readAgain = async () => {
      const next = await client.status({ signal: end.signal }).then(
        (status) => () => ({ status, error: undefined, at: new Date() }),
        (error: Error) => (before: Read) => ({ ...before, error }),
      );
      if (end.signal.aborted) return;
      setRead(next);
      timer = setTimeout(() => void readAgain(), READ_AGAIN_MS);
    };
    void readAgain();
    return () => {
      end.abort();
      clearTimeout(timer);
      // Another key is another user.
      setRead(NOTHING);
    };
  }, [client]);
  return read;
}

import type { Me } from "holdpoint/protocol";
import { useServerStatus } from "holdpoint/react";
import { createContext, useContext, useEffect, useState } from "react";
import { useClient } from "../api/server";

/** Who is signed in; `undefined` until the server has said so. */
export const MeContext = createContext<Me | undefined>(undefined);

export function useMe(): Me | undefined {
  return useContext(MeContext);
}

/** Without keys everybody is one. */
export function isAdmin(me: Me | undefined): boolean {
  return me?.roles.includes("admin") ?? false;
}

/** Asks the server, once for the whole page. */
export function useReadMe(): Me | undefined {
  const client = useClient();
  const isConnected = useServerStatus({ client }).state === "connected";
  const [me, setMe] = useState<Me>();
  // Another key is another user, so nobody is shown until the server has answered for it.
  useEffect(() => {
    if (!isConnected) return;
    const end = new AbortController();
    client
      .me({ signal: end.signal })
      .then((answered) => end.signal.aborted || setMe(answered))
      // Without an answer nothing is known. The banner shows an outage, and the dialog asks for a key.
      .catch(() => {});
    return () => {
      end.abort();
      setMe(undefined);
    };
  }, [client, isConnected]);
  return me;
}

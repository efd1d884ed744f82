import { useServerStatus } from "holdpoint/react";
import { useEffect, useState } from "react";
import { readNode } from "../api/node";
import { useServer } from "../api/server";

/** A load balancer may change the node at any time. */
const READ_AGAIN_MS = 10_000;

/** As many characters of a random id as tell nodes apart. */
const SHOWN = 8;

/** The node that answered last, for a server that is one of several. Nothing while no server answers. */
export function ServerNode() {
  const { state } = useServerStatus(useServer());
  const node = useNode(state === "connected");
  if (node === undefined) return null;
  return (
    <p className="server-node" title={`Node ${node} answered last. A load balancer may choose another one each time.`}>
      Node <code>{node.slice(0, SHOWN)}</code>
    </p>
  );
}

function useNode(isConnected: boolean): string | undefined {
  const [node, setNode] = useState<string>();
  useEffect(() => {
    if (!isConnected) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      // Without an answer nothing is known. The banner shows an outage.
      const answered = await readNode(end.signal).catch(() => undefined);
      if (end.signal.aborted) return;
      setNode(answered);
      // A server without a node id has none later either.
      if (answered !== undefined) timer = setTimeout(() => void read(), READ_AGAIN_MS);
    };
    void read();
    return () => {
      end.abort();
      clearTimeout(timer);
      setNode(undefined);
    };
  }, [isConnected]);
  return node;
}

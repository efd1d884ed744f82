import type { PendingApproval } from "holdpoint/protocol";
import { useTools } from "holdpoint/react";
import { useEffect, useRef } from "react";
import { useClient } from "../api/server";
import type { ToolSpec } from "../api/types";
import { requests } from "../shell/parts";
import { navigate } from "../shell/route";
import { useStore } from "../store";
import { alertsStore, notify, playSound } from "./alerts";

/** Announces new requests by the system and by a sound, where they are switched on. */
export function AlertsWatcher() {
  const { isNotifying, isSounding } = useStore(alertsStore);
  return isNotifying || isSounding ? <Watcher /> : null;
}

/** The server's clock is known to the second. */
const CLOCK_MS = 2_000;
/** More requests than anybody gets alerts for. */
const REMEMBERED = 1_000;

function Watcher() {
  const client = useClient();
  const { tools } = useTools({ client });
  const latest = useRef(tools);
  latest.current = tools;

  useEffect(() => void requests.preload(), []);

  // Not the list, which may have many pages: an event names the chat, and what is new is in there.
  useEffect(() => {
    const abort = new AbortController();
    const since = client.now() - CLOCK_MS;
    let told: string[] = [];
    const look = async (chatId: string) => {
      const listed = await client.approvals.list({ chat: chatId }, { signal: abort.signal });
      const isNew = ({ approvalId, requestedAt }: PendingApproval) =>
        Date.parse(requestedAt) >= since && !told.includes(approvalId);
      const added = listed.filter((open) => open.chatId === chatId && isNew(open));
      told = [...told, ...added.map(({ approvalId }) => approvalId)].slice(-REMEMBERED);
      announce(added, latest.current);
    };
    const stop = client.watchEvents({
      onEvent: (event) => {
        // A failure needs no words here: the list shows the same, and says when it can't.
        if (event.type === "approvals") look(event.chatId).catch(() => undefined);
      },
    });
    return () => {
      abort.abort();
      stop();
    };
  }, [client]);
  return null;
}

function announce(added: readonly PendingApproval[], tools: readonly ToolSpec[] | undefined): void {
  const [first] = added;
  if (first === undefined) return;
  if (alertsStore.read().isSounding) playSound();
  if (document.hasFocus()) return;
  const { approvalId, toolName } = first;
  const tool = tools?.find(({ name }) => name === toolName);
  const subject = requests.read().module?.present(first, tool).subject;
  const title = added.length === 1 ? "Approval needed" : `${added.length} approvals needed`;
  notify(title, subject ?? toolName, approvalId, () => navigate({ place: { kind: "hold", approvalId } }));
}

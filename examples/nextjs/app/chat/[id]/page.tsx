import type { UIMessage } from "ai";
import { createHoldpoint, HoldpointError } from "holdpoint";
import { Chat } from "@/components/Chat";
import { Unavailable } from "@/components/Unavailable";
import { agent } from "@/lib/agent";

export const dynamic = "force-dynamic";

/** Reads the history on the server, open approval requests included, so that the page shows it at once. */
export default async function ChatPage({ params }: { params: Promise<{ id: string }> }) {
  const id = decodeURIComponent((await params).id);
  let history: UIMessage[];
  try {
    history = await createHoldpoint(agent()).chats.messages(id, { signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    return <Unavailable chatId={id} reason={error.message} />;
  }
  return <Chat id={id} history={history} />;
}

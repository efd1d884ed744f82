import { useEffect, useState } from "react";
import { partOf, usePart } from "../shell/part";
import { Composer } from "./Composer";
import { writeDraft } from "./drafts";
import { HistorySkeleton } from "./HistorySkeleton";
import type { SessionProps } from "./Session";
import { Transcript } from "./Transcript";
import { Welcome } from "./Welcome";

const session = partOf(async () => (await import("./Session")).Session);

const IDLE = { canStop: false, stopNote: undefined, isHeld: false, onStop: () => {} };

/**
 * A chat. The SDK, Markdown and the cards of calls are loaded for a chat that has messages; a new one loads them while
 * its first message is written.
 */
export function ChatPlace(props: Omit<SessionProps, "first">) {
  const { chatId, isNew } = props;
  const [first, setFirst] = useState<string>();
  const isWanted = !isNew || first !== undefined;
  // What was written is in its field again, should the rest not be there.
  useEffect(() => {
    if (first !== undefined && session.read() === undefined)
      session.load().catch(() => {
        writeDraft(undefined, first);
      });
  }, [first]);
  const Session = usePart(session, isWanted);
  if (Session !== undefined) return <Session {...props} first={first} />;
  if (isWanted) {
    return (
      <div className="chat">
        <HistorySkeleton />
        <Composer {...IDLE} draftOf={first === undefined ? chatId : undefined} isReady={false} onSend={() => {}} />
      </div>
    );
  }
  return (
    <div className="chat" data-status="ready">
      <Transcript growth={undefined} sent={undefined} isEmpty>
        <Welcome onChoose={setFirst} />
      </Transcript>
      <Composer
        {...IDLE}
        draftOf={undefined}
        isReady
        onSend={setFirst}
        // A failure is told when something is sent.
        onWrite={() => void session.load().catch(() => {})}
      />
    </div>
  );
}

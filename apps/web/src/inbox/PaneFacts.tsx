import type { PendingApproval } from "holdpoint/protocol";
import { Clock3, Flame, MessageSquare, UserRound, Users } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { navigate } from "../shell/route";
import { Untrusted } from "../text/Untrusted";
import { Countdown } from "../tools/Countdown";
import { Time } from "../tools/Time";

interface Props {
  entry: PendingApproval;
  /** The title of its chat, if it is one of this user's. */
  chatTitle: string | undefined;
  isOpen: boolean;
  /** Whether the approvals so far are shown: a decision names everybody whose approval it took. */
  hasVotes: boolean;
  me: string | undefined;
}

/** Who asked, where and when, and who has approved so far. */
export function PaneFacts({ entry, chatTitle, isOpen, hasVotes, me }: Props) {
  return (
    <dl className="pane__facts">
      <Fact icon={UserRound} name="Requested by">
        <Untrusted text={entry.requestedBy} />
      </Fact>
      <Fact icon={MessageSquare} name="Chat">
        {chatTitle === undefined ? (
          <code>
            <Untrusted text={entry.chatId} />
          </code>
        ) : (
          <button
            type="button"
            className="link-button"
            onClick={() => navigate({ chatId: entry.chatId, isNew: false })}
          >
            <Untrusted text={chatTitle || "Untitled"} />
          </button>
        )}
      </Fact>
      <Fact icon={Clock3} name="Asked">
        <Time iso={entry.requestedAt} />
        {isOpen && entry.expiresAt && <Countdown requestedAt={entry.requestedAt} expiresAt={entry.expiresAt} />}
      </Fact>
      {entry.votes && hasVotes && (
        <Fact icon={Users} name="Approved by">
          <Votes by={entry.votes.by} quorum={entry.votes.quorum} me={me} />
        </Fact>
      )}
      {entry.isEscalated && (
        <Fact icon={Flame} name="Escalated">
          Nobody decided in time, so more people were asked.
        </Fact>
      )}
    </dl>
  );
}

function Fact({ icon: Icon, name, children }: { icon: typeof Clock3; name: string; children: ReactNode }) {
  return (
    <div className="pane__fact">
      <dt>
        <Icon size={14} aria-hidden="true" />
        {name}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function Votes({ by, quorum, me }: { by: readonly string[]; quorum: number; me: string | undefined }) {
  return (
    <>
      <span className="votes" aria-hidden="true">
        {Array.from({ length: Math.min(quorum, 12) }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the places of a quorum do not move
          <span key={at} className="votes__place" data-given={at < by.length} />
        ))}
      </span>
      <span>
        {by.length} of {quorum}
        {by.map((name, at) => (
          <Fragment key={name}>
            {at === 0 ? ": " : ", "}
            <b>{name === me ? "you" : <Untrusted text={name} />}</b>
          </Fragment>
        ))}
      </span>
    </>
  );
}

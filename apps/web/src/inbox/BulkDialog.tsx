import type { ApprovalDecision, SettledDecision } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { Check, X } from "lucide-react";
import { Dialog } from "radix-ui";
import { useCallback, useEffect, useId, useRef, useState } from "react";
import type { ToolSpec } from "../api/types";
import { SendButton } from "../edit/SendButton";
import { Layer } from "../shell/layer";
import { useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import { whyNot } from "../tools/DenyForm";
import { Headline } from "../tools/Headline";
import { cardOf } from "../tools/registry";
import { Lines } from "../value/Lines";
import { linesOf } from "../value/lines";
import { useWatchLines } from "../value/seen";
import { useUnread } from "../value/useUnread";
import { allows, present } from "./entry";
import { useFollowed } from "./Results";
import { hasVoted } from "./votes";

interface Props {
  kind: "approve" | "deny";
  /** The requests as they were when the dialog was opened. */
  entries: readonly PendingApproval[];
  toolNamed: (name: string) => ToolSpec | undefined;
  /** Whether a request still waits. */
  isOpen: (approvalId: string) => boolean;
  decide: (entry: PendingApproval, decision: ApprovalDecision) => Promise<SettledDecision>;
  /** Shows one request by itself. */
  onOpen: (approvalId: string) => void;
  onClose: () => void;
}

/** How many are sent at the same time. */
const AT_ONCE = 4;
/** A longer input is shown up to here. The rest has to be read where it is shown by itself. */
const MOST_LINES = 40;

/**
 * Decides several requests: first it lists what will be done, then what came of each. Nothing is approved here that has
 * lines which were never in view.
 */
export function BulkDialog({ kind, entries, toolNamed, isOpen, decide, onOpen, onClose }: Props) {
  const me = useMe();
  const [reason, setReason] = useState("");
  const [state, setState] = useState<"asking" | "sending" | "done">("asking");
  const [unseenOf, setUnseenOf] = useState<Readonly<Record<string, number>>>({});
  const id = useId();
  const onUnseen = useCallback(
    (approvalId: string, unseen: number) => setUnseenOf((before) => ({ ...before, [approvalId]: unseen })),
    [],
  );
  /** Why a request is left out; `undefined` if it is not. */
  const leftOut = (entry: PendingApproval): LeftOut | undefined => {
    if (!isOpen(entry.approvalId)) return "ended";
    if (kind === "approve" && hasVoted(entry, me?.subject)) return "voted";
    if (!allows(entry, kind)) return "not-allowed";
    // Until it is counted, nothing of it was in view.
    return kind === "approve" && unseenOf[entry.approvalId] !== 0 ? "unread" : undefined;
  };
  /** What was sent. It stays, whatever comes of it. */
  const [sent, setSent] = useState<readonly PendingApproval[]>();
  const meant = sent ?? entries.filter((entry) => leftOut(entry) === undefined);
  const verb = kind === "approve" ? "Approve" : "Deny";

  const send = async () => {
    setState("sending");
    setSent(meant);
    const why = reason.trim();
    const decision: ApprovalDecision =
      kind === "approve" ? { approved: true } : { approved: false, ...(why !== "" && { reason: why }) };
    const queue = [...meant];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await decide(next, decision);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    setState("done");
  };
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="review bulk"
          aria-describedby={undefined}
          onInteractOutside={(event) => event.preventDefault()}
        >
          <Layer>
            <header className="review__head">
              <Dialog.Title className="review__title">
                {verb} {meant.length < entries.length && `${meant.length} of `}
                {count(entries.length)}
                {state === "asking" && "?"}
              </Dialog.Title>
              <Dialog.Close className="icon-button" aria-label="Close" title="Close">
                <X size={16} aria-hidden="true" />
              </Dialog.Close>
            </header>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard */}
            <section className="bulk__body" tabIndex={0} aria-label="What will be decided">
              <ul className="bulk__list">
                {entries.map((entry) => (
                  <BulkItem
                    key={entry.approvalId}
                    entry={entry}
                    tool={toolNamed(entry.toolName)}
                    onUnseen={onUnseen}
                    isSent={sent?.includes(entry) ?? false}
                    leftOut={sent?.includes(entry) ? undefined : leftOut(entry)}
                    onOpen={onOpen}
                  />
                ))}
              </ul>
            </section>
            <footer className="review__foot">
              {kind === "deny" && state === "asking" && (
                <div className="prompt__field bulk__reason">
                  <label className="prompt__label" htmlFor={id}>
                    {whyNot(entries.every(({ toolName }) => !cardOf(toolName).isUntold))}{" "}
                    <span className="approval__optional">Optional</span>
                  </label>
                  <input
                    id={id}
                    className="field"
                    autoComplete="off"
                    maxLength={1000}
                    value={reason}
                    onChange={({ target }) => setReason(target.value)}
                  />
                </div>
              )}
              <div className="approval__row">
                {state === "done" ? (
                  <button type="button" className="button button--primary" onClick={onClose}>
                    Close
                  </button>
                ) : (
                  <>
                    <SendButton
                      label={`${verb} ${count(meant.length)}`}
                      subject={meant.map((entry) => present(entry, toolNamed(entry.toolName)).subject).join("; ")}
                      className={kind === "deny" ? "button button--bad" : "button button--ok"}
                      icon={kind === "approve" ? Check : X}
                      isSending={state === "sending"}
                      isOpen={meant.length > 0}
                      onSend={() => void send()}
                    />
                    <button type="button" className="button" onClick={onClose}>
                      Cancel
                    </button>
                  </>
                )}
              </div>
            </footer>
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Why a request is not among those that are decided. */
type LeftOut = "ended" | "voted" | "not-allowed" | "unread";

const LEFT_OUT: Record<Exclude<LeftOut, "unread">, string> = {
  ended: "it has ended.",
  voted: "you have already approved it.",
  "not-allowed": "you may not decide this in this way.",
};

interface ItemProps {
  entry: PendingApproval;
  tool: ToolSpec | undefined;
  isSent: boolean;
  leftOut: LeftOut | undefined;
  /** How many lines of its input have never been in view. */
  onUnseen: (approvalId: string, unseen: number) => void;
  onOpen: (approvalId: string) => void;
}

function BulkItem({ entry, tool, isSent, leftOut, onUnseen, onOpen }: ItemProps) {
  const { headline, schema, title } = present(entry, tool);
  const id = `${entry.approvalId} input`;
  const container = useRef<HTMLDivElement>(null);
  const lines = linesOf(entry.input, schema);
  const rendered = Math.min(lines.length, MOST_LINES);
  useWatchLines({ id, container, rendered });
  const unseen = useUnread(id, entry.input, schema);
  useEffect(() => onUnseen(entry.approvalId, unseen), [onUnseen, entry.approvalId, unseen]);
  const { followed } = useFollowed(entry, tool, isSent);
  const isUnread = leftOut === "unread";
  const open = (
    <button type="button" className="link-button" onClick={() => onOpen(entry.approvalId)}>
      Open
    </button>
  );
  return (
    <li className="bulk__item" data-approval={entry.approvalId} data-outcome={followed?.tone} data-left-out={leftOut}>
      <p className="bulk__headline">
        <Headline pieces={headline} />
        <span className="bulk__who">
          <Untrusted text={entry.requestedBy} />
        </span>
      </p>
      {leftOut !== undefined && (
        <p className="bulk__outcome" data-tone={isUnread ? "hold" : "quiet"} role="status">
          {isUnread ? (
            <>
              Left out: {unseen} {unseen === 1 ? "line" : "lines"} not read yet · {open}
            </>
          ) : (
            `Left out: ${LEFT_OUT[leftOut]}`
          )}
        </p>
      )}
      {!isSent && (leftOut === undefined || isUnread) && (
        <div ref={container}>
          <Lines caption={`${title}, Input`} lines={lines} limit={rendered} />
        </div>
      )}
      {isSent && (
        <p className="bulk__outcome" data-tone={followed?.tone} role="status">
          {followed?.text} {followed?.outcome}
        </p>
      )}
    </li>
  );
}

function count(number: number): string {
  return number === 1 ? "1 request" : `${number} requests`;
}

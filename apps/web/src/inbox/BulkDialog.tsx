import type { ApprovalDecision, DecisionProgress, SettledDecision } from "holdpoint";
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
import { allows, hasVoted, present } from "./entry";
import { outcomeText } from "./outcomes";

interface Props {
  kind: "approve" | "deny";
  /** The requests as they were when the dialog was opened. */
  entries: readonly PendingApproval[];
  decisions: Readonly<Record<string, DecisionProgress>>;
  toolNamed: (name: string) => ToolSpec | undefined;
  decide: (entry: PendingApproval, decision: ApprovalDecision) => Promise<SettledDecision>;
  onClose: () => void;
}

/** How many are sent at the same time. */
const AT_ONCE = 4;
/** A longer input is shown up to here; the rest counts as not seen. */
const MOST_LINES = 40;

/** Decides several requests: first it lists what will be done, then what came of each. */
export function BulkDialog({ kind, entries, decisions, toolNamed, decide, onClose }: Props) {
  const me = useMe();
  const [reason, setReason] = useState("");
  const [state, setState] = useState<"asking" | "sending" | "done">("asking");
  const [unseenOf, setUnseenOf] = useState<Readonly<Record<string, number>>>({});
  const id = useId();
  const onUnseen = useCallback(
    (approvalId: string, unseen: number) => setUnseenOf((before) => ({ ...before, [approvalId]: unseen })),
    [],
  );
  const isMeant = (entry: PendingApproval) =>
    allows(entry, kind) && !(kind === "approve" && hasVoted(entry, me?.subject));
  const meant = entries.filter(isMeant);
  const verb = kind === "approve" ? "Approve" : "Deny";
  const unseen = kind === "deny" ? 0 : meant.reduce((sum, { approvalId }) => sum + (unseenOf[approvalId] ?? 0), 0);
  const unread = unseen === 0 ? "" : `, ${unseen} ${unseen === 1 ? "line" : "lines"} unread`;

  const send = async () => {
    setState("sending");
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
                {state === "asking" ? `${verb} ${count(meant.length)}?` : `${verb}: ${count(meant.length)}`}
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
                    outcome={
                      isMeant(entry)
                        ? state === "asking"
                          ? undefined
                          : outcomeText(decisions[entry.approvalId])
                        : { text: "Left out: you may not decide this in this way.", tone: "quiet" }
                    }
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
                      label={`${verb} ${count(meant.length)}${unread}`}
                      subject={meant.map((entry) => present(entry, toolNamed(entry.toolName)).subject).join("; ")}
                      className={kind === "deny" ? "button button--bad" : unseen > 0 ? "button" : "button button--ok"}
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

interface ItemProps {
  entry: PendingApproval;
  tool: ToolSpec | undefined;
  outcome: ReturnType<typeof outcomeText>;
  /** How many lines of its input have never been in view. */
  onUnseen: (approvalId: string, unseen: number) => void;
}

function BulkItem({ entry, tool, outcome, onUnseen }: ItemProps) {
  const { headline, schema, title } = present(entry, tool);
  const id = `${entry.approvalId} input`;
  const container = useRef<HTMLDivElement>(null);
  const lines = linesOf(entry.input, schema);
  const rendered = Math.min(lines.length, MOST_LINES);
  useWatchLines({ id, container, rendered });
  const unseen = useUnread(id, entry.input, schema);
  useEffect(() => onUnseen(entry.approvalId, unseen), [onUnseen, entry.approvalId, unseen]);
  const more = lines.length - rendered;
  return (
    <li className="bulk__item" data-approval={entry.approvalId} data-outcome={outcome?.tone}>
      <p className="bulk__headline">
        <Headline pieces={headline} />
        <span className="bulk__who">
          <Untrusted text={entry.requestedBy} />
        </span>
      </p>
      {outcome === undefined ? (
        <>
          <div ref={container}>
            <Lines caption={`${title}, Input`} lines={lines} limit={rendered} />
          </div>
          {more > 0 && unseen > 0 && (
            <p className="bulk__more">
              {more} more {more === 1 ? "line" : "lines"} that you have not seen: open it by itself to read them.
            </p>
          )}
        </>
      ) : (
        <p className="bulk__outcome" data-tone={outcome.tone} role="status">
          {outcome.text}
        </p>
      )}
    </li>
  );
}

function count(number: number): string {
  return number === 1 ? "1 request" : `${number} requests`;
}

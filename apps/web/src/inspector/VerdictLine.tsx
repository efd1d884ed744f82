import { CircleAlert, CircleCheck, CircleDashed } from "lucide-react";
import { Untrusted } from "../text/Untrusted";
import type { Verdict } from "./useVerdict";

/** The rule checker's verdict on this turn. */
export function VerdictLine({ verdict }: { verdict: Verdict | undefined }) {
  if (verdict === undefined || verdict.state === "checking") return null;
  if (verdict.state !== "checked") {
    const text = {
      unavailable: "Rule checker: not available on this server",
      open: "Checked when the response has ended",
      mixed: "Not checked: the chat's transport changed during this message",
      partial: "Not checked: the recording starts in the middle of this message",
      failed: "The rule checker failed",
    }[verdict.state];
    return (
      <p className="verdict" data-verdict={verdict.state}>
        <CircleDashed size={15} aria-hidden="true" />
        {text}
        {verdict.state === "failed" && (
          <>
            : <Untrusted text={verdict.error} />
          </>
        )}
      </p>
    );
  }
  const { violations, profile } = verdict;
  if (violations.length === 0) {
    return (
      <p className="verdict" data-verdict="clean">
        <CircleCheck size={15} aria-hidden="true" />
        No rule broken <code>{profile}</code>
      </p>
    );
  }
  return (
    <div className="verdict" data-verdict="broken">
      <p>
        <CircleAlert size={15} aria-hidden="true" />
        {violations.length === 1 ? "1 rule broken" : `${violations.length} rules broken`} <code>{profile}</code>
      </p>
      <ul>
        {violations.map(({ line, rule, text }) => (
          <li key={`${line}-${rule}-${text}`}>
            <code>{rule}</code> <Untrusted text={text} />
          </li>
        ))}
      </ul>
    </div>
  );
}

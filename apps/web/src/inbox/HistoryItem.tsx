import type { AuditLine } from "holdpoint/protocol";
import { useApproval } from "holdpoint/react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useServer } from "../api/server";
import type { ToolSpec } from "../api/types";
import { Changes } from "../edit/Changes";
import { inPage } from "../shell/inPage";
import { formatRoute, navigate, routeStore } from "../shell/route";
import { Untrusted } from "../text/Untrusted";
import type { Tone } from "../tools/callStatus";
import { Headline } from "../tools/Headline";
import { Time } from "../tools/Time";
import { ToolIcon } from "../tools/ToolIcon";
import { decisionText, outcomeOf, presentRecord, recordedState } from "./receipt";

/** A decision of this user, and what came of it. */
export function HistoryItem({ line, tool }: { line: AuditLine; tool: ToolSpec | undefined }) {
  const item = useRef<HTMLLIElement>(null);
  // A long history is not read as a whole: what is in view is.
  const isWanted = useWasInView(item);
  const { record } = useApproval(isWanted ? line.approvalId : undefined, useServer());
  const { text, tone } = verdictOf(line);
  const state = record && recordedState(record, tool);
  const outcome = state && outcomeOf(state);
  // A vote is not the end of it.
  const decision = line.step === "voted" ? record?.decision : undefined;
  const place = line.approvalId === undefined ? undefined : ({ kind: "hold", approvalId: line.approvalId } as const);
  const title = record ? (
    <Headline pieces={presentRecord(record, tool).headline} />
  ) : (
    <Untrusted text={tool?.title ?? line.toolName} />
  );
  return (
    <li ref={item} className="history__item">
      <span className="row__icon">
        <ToolIcon name={line.toolName} />
      </span>
      <div className="history__text">
        <p className="history__title">
          {record && place ? (
            <a href={formatRoute({ ...routeStore.read(), place })} onClick={inPage(() => navigate({ place }))}>
              {title}
            </a>
          ) : (
            <span>{title}</span>
          )}
          <span className="pill" data-tone={tone}>
            {text}
          </span>
        </p>
        {(decision || outcome) && (
          <p className="history__outcome" data-tone={outcome?.tone ?? "quiet"}>
            {decision && `${decisionText(decision)}. `}
            {outcome?.text}
          </p>
        )}
        <p className="history__about">
          <Time iso={line.at} />
          {" · for "}
          <Untrusted text={line.owner} />
          {" · chat "}
          <code>
            <Untrusted text={line.chatId} />
          </code>
        </p>
        {line.reason && (
          <p className="history__reason">
            <Untrusted text={line.reason} />
          </p>
        )}
        {line.decision === "edit" && line.originalInput !== undefined && (
          <Changes before={line.originalInput} after={line.input} />
        )}
      </div>
    </li>
  );
}

function useWasInView(element: RefObject<HTMLElement | null>): boolean {
  const [wasInView, setWasInView] = useState(false);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      setWasInView(true);
      observer.disconnect();
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return wasInView;
}

const VERDICTS: Partial<Record<string, { text: string; tone: Tone }>> = {
  approve: { text: "Approved", tone: "ok" },
  edit: { text: "Approved with changes", tone: "ok" },
  deny: { text: "Denied", tone: "bad" },
  answer: { text: "Answered", tone: "ok" },
};

function verdictOf({ step, decision }: AuditLine): { text: string; tone: Tone } {
  if (step === "voted") return { text: "Approved, with others to follow", tone: "hold" };
  return VERDICTS[decision ?? ""] ?? { text: "Decided", tone: "quiet" };
}

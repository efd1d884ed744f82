import type { HoldpointError } from "holdpoint";
import type { Grant } from "holdpoint/protocol";
import { useGrants, useTools } from "holdpoint/react";
import { ShieldCheck } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useServer } from "../api/server";
import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Tone } from "../tools/callStatus";
import { Time } from "../tools/Time";
import { ToolIcon } from "../tools/ToolIcon";

/** What runs without a question, and the way to end that. */
export function GrantsView() {
  const server = useServer();
  const { grants, error, revoke } = useGrants(server);
  const { tools } = useTools(server);
  if (grants === undefined) {
    return error ? (
      <div className="empty" role="alert">
        <h2>The grants could not be read</h2>
        <p>
          <Untrusted text={error.message} reading="prose" />
        </p>
      </div>
    ) : (
      <div className="waiting__skeleton" aria-hidden="true">
        <span className="skeleton" />
        <span className="skeleton" />
      </div>
    );
  }
  if (grants.length === 0) {
    return (
      <div className="empty">
        <ShieldCheck size={26} aria-hidden="true" />
        <h2>No standing approvals</h2>
        <p>An approval that you let the server remember appears here.</p>
      </div>
    );
  }
  // Those that count come first, then those that may count again.
  const order = ({ state }: Grant) => ["active", "suspended"].indexOf(state) + 1 || 3;
  const sorted = [...grants].sort((a, b) => order(a) - order(b) || b.madeAt.localeCompare(a.madeAt));
  return (
    <div className="page">
      <ul className="history" aria-label="Grants">
        {sorted.map((grant) => (
          <GrantItem
            key={grant.id}
            grant={grant}
            title={tools?.find(({ name }) => name === grant.toolName)?.title ?? grant.toolName}
            revoke={revoke}
          />
        ))}
      </ul>
    </div>
  );
}

const STATES: Record<Grant["state"], { text: string; tone: Tone }> = {
  active: { text: "In force", tone: "ok" },
  suspended: { text: "Tool changed: not used", tone: "hold" },
  revoked: { text: "Revoked", tone: "quiet" },
  expired: { text: "Expired", tone: "quiet" },
  "used-up": { text: "Used up", tone: "quiet" },
};

interface ItemProps {
  grant: Grant;
  title: string;
  revoke: (id: string) => Promise<void>;
}

function GrantItem({ grant, title, revoke }: ItemProps) {
  const [state, setState] = useState<"idle" | "sending" | { error: HoldpointError }>("idle");
  const { text, tone } = STATES[grant.state];
  const send = () => {
    setState("sending");
    revoke(grant.id).then(
      () => setState("idle"),
      (error: HoldpointError) => setState({ error }),
    );
  };
  return (
    <li className="history__item" data-grant={grant.id} data-state={grant.state}>
      <span className="row__icon">
        <ToolIcon name={grant.toolName} />
      </span>
      <div className="history__text">
        <p className="history__title">
          <Untrusted text={title} />
          <span className="pill" data-tone={tone}>
            {text}
          </span>
        </p>
        <p className="history__about">{coverage(grant)}</p>
        <p className="history__about">
          By <Untrusted text={grant.maker} /> at <Time iso={grant.madeAt} />
          {" · "}
          {grant.uses === undefined
            ? `used ${times(grant.used)}`
            : `used ${grant.used} of ${grant.uses} ${grant.uses === 1 ? "time" : "times"}`}
          {grant.until && (
            <>
              {" · until "}
              <Time iso={grant.until} />
            </>
          )}
          {grant.revokedBy && (
            <>
              {" · revoked by "}
              <Untrusted text={grant.revokedBy} />
            </>
          )}
        </p>
        {typeof state === "object" && (
          <p className="tool-card__error" role="alert">
            It was not revoked: <Untrusted text={state.error.message} reading="prose" />
          </p>
        )}
      </div>
      {(grant.state === "active" || grant.state === "suspended") && (
        <button
          type="button"
          className="button button--bad"
          aria-label={`Revoke: ${visible(title)}`}
          aria-disabled={state === "sending"}
          onClick={() => {
            if (state !== "sending") send();
          }}
        >
          {state === "sending" ? "Revoking" : "Revoke"}
        </button>
      )}
    </li>
  );
}

/** What it covers, in words. */
function coverage({ match, scope, subject, chatId }: Grant): ReactNode {
  return (
    <>
      {match === "input" && "The same call"}
      {match === "tool" && "Every call of this tool"}
      {typeof match === "object" && (
        <>
          Calls that meet{" "}
          <code>
            <Untrusted text={JSON.stringify(match)} />
          </code>
        </>
      )}
      {scope === "chat" ? " in the chat " : " in all chats of "}
      <b>
        <Untrusted text={scope === "chat" ? (chatId ?? "?") : subject} />
      </b>
    </>
  );
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

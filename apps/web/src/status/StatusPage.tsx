import type { McpStatus, ServerStatus, ToolStatus } from "holdpoint/protocol";
import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { isAdmin, useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import { Time } from "../tools/Time";
import { ToolIcon } from "../tools/ToolIcon";
import { approvalOf, approversOf, decisionsOf } from "./policy";
import { useStatus } from "./useStatus";

/** What the server consists of, for admins. */
export function StatusContent() {
  const me = useMe();
  // It is not asked for somebody whom the server would refuse.
  return (
    <section
      className="inbox-page"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
      tabIndex={0}
      aria-label="Status"
    >
      {me === undefined ? <Loading /> : isAdmin(me) ? <Status /> : <Refused />}
    </section>
  );
}

function Loading() {
  return (
    <div className="waiting__skeleton" aria-hidden="true">
      <span className="skeleton" />
      <span className="skeleton" />
    </div>
  );
}

function Refused() {
  return (
    <div className="empty">
      <Lock size={26} aria-hidden="true" />
      <h2>The status is for admins</h2>
      <p>
        Your key does not have the role <code>admin</code>. The operator of the server can add it.
      </p>
    </div>
  );
}

function Status() {
  const { status, error, at } = useStatus();
  if (status === undefined) {
    if (error === undefined) return <Loading />;
    return (
      <div className="empty" role="alert">
        <h2>The status could not be read</h2>
        <p>
          <Untrusted text={error.message} reading="prose" />
        </p>
      </div>
    );
  }
  return (
    <div className="page status">
      {error && at && (
        <p className="page__note" role="status">
          This is from <Time iso={at.toISOString()} />: <Untrusted text={error.message} reading="prose" />
        </p>
      )}
      <Overview status={status} />
      <Section title="MCP servers">
        {status.mcp.length === 0 ? (
          <p className="status__none">None is configured.</p>
        ) : (
          <ul className="history" aria-label="MCP servers">
            {status.mcp.map((server) => (
              <McpServer key={server.name} server={server} />
            ))}
          </ul>
        )}
      </Section>
      <Section title="Tools">
        {status.warnings.map((warning) => (
          <p key={warning} className="status__none">
            <strong>Warning:</strong> <Untrusted text={warning} reading="prose" />
          </p>
        ))}
        {status.tools.length === 0 ? (
          <p className="status__none">The model has no tools.</p>
        ) : (
          <ul className="history" aria-label="Tools">
            {status.tools.map((tool) => (
              <Tool key={tool.name} tool={tool} />
            ))}
          </ul>
        )}
      </Section>
      <Section title="Limits">
        <dl className="status__facts status__limits">
          {Object.entries(status.limits).map(([name, limit]) => (
            <Fact key={name} name={<code>{name}</code>}>
              {limit.toLocaleString("en")}
            </Fact>
          ))}
        </dl>
      </Section>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="status__section" aria-label={title}>
      <h2 className="status__heading">{title}</h2>
      {children}
    </section>
  );
}

function Fact({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Overview({ status: { version, model, node } }: { status: ServerStatus }) {
  return (
    <Section title="Server">
      <dl className="status__facts">
        <Fact name="Version">
          <Untrusted text={version} />
        </Fact>
        <Fact name="Model">
          <Untrusted text={model} />
        </Fact>
        {node !== undefined && (
          <Fact name="Node">
            <code>
              <Untrusted text={node} />
            </code>
          </Fact>
        )}
      </dl>
    </Section>
  );
}

const STATES = {
  connected: { text: "Connected", tone: "ok" },
  connecting: { text: "Not connected", tone: "bad" },
} as const satisfies Record<McpStatus["state"], unknown>;

function McpServer({ server: { name, state, tools, problem, warnings, lastLines } }: { server: McpStatus }) {
  const { text, tone } = STATES[state];
  return (
    <li className="history__item" data-mcp={name} data-mcp-state={state}>
      <div className="history__text">
        <p className="history__title">
          <Untrusted text={name} />
          <span className="pill" data-tone={tone}>
            {text}
          </span>
        </p>
        {problem !== undefined && (
          <p className="tool-card__error">
            <Untrusted text={problem} reading="prose" />
          </p>
        )}
        <p className="history__about">
          {tools.length === 0 ? "No tools" : `${tools.length} ${tools.length === 1 ? "tool" : "tools"}: `}
          <Untrusted text={tools.join(", ")} />
        </p>
        {warnings.map((warning) => (
          <p key={warning} className="history__about">
            <strong>Warning:</strong> <Untrusted text={warning} reading="prose" />
          </p>
        ))}
        {lastLines.length > 0 && (
          <details className="tool-card__fold" open={state !== "connected"}>
            <summary>Last lines of its program</summary>
            <pre className="status__lines">
              <Untrusted text={lastLines.join("\n")} reading="prose" />
            </pre>
          </details>
        )}
      </div>
    </li>
  );
}

function Tool({ tool }: { tool: ToolStatus }) {
  const { name, title, execution, mcp } = tool;
  const approval = approvalOf(tool);
  return (
    <li className="history__item" data-tool-status={name}>
      <span className="row__icon">
        <ToolIcon name={name} />
      </span>
      <div className="history__text">
        <p className="history__title">
          <Untrusted text={title ?? name} />
          <code className="tool-card__name">
            <Untrusted text={name} />
          </code>
          <span className="pill" data-tone={tool.approval === "never" ? "quiet" : "hold"}>
            {approval.text}
          </span>
        </p>
        <p className="history__about">
          {execution === "frontend" ? "Runs in the browser" : "Runs on the server"}
          {mcp !== undefined && (
            <>
              {" · MCP server "}
              <Untrusted text={mcp} />
            </>
          )}
        </p>
        {approval.rule !== undefined && (
          <p className="history__about">
            Rule:{" "}
            <code>
              <Untrusted text={approval.rule} />
            </code>
          </p>
        )}
        {tool.approval !== "never" && (
          <>
            <p className="history__about">
              Decided by: <Untrusted text={approversOf(tool)} />
            </p>
            <p className="history__about">They may: {decisionsOf(tool)}</p>
          </>
        )}
      </div>
    </li>
  );
}

import type { LiveConnection, ServerStatus } from "holdpoint";

/** Whether the server answers, and why not. Until it does, requests are repeated. */
export function Connection({ server, connection }: { server: ServerStatus; connection?: LiveConnection | undefined }) {
  if (server.state === "connected") {
    const rtt = connection?.rttMs === undefined ? "" : `, ${connection.rttMs.toFixed()} ms`;
    return <p className="connection" role="status" data-state="connected">{`Connected${rtt}`}</p>;
  }
  if (server.state === "connecting") {
    return (
      <p className="connection" role="status" data-state="connecting">
        Connecting…
      </p>
    );
  }
  return (
    <p className="connection" role="status" data-state="unreachable">
      No answer since {server.since.toLocaleTimeString()}. {server.error?.message}
    </p>
  );
}

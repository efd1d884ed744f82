import { useAgentChat } from "./AgentChat";

/** Whether the server answers, and what failed. */
export function Status() {
  const { server, error, retry } = useAgentChat();
  return (
    <header>
      <h1>Agent</h1>
      <p role="status" data-state={server.state}>
        {server.state === "connected" && "Connected"}
        {server.state === "connecting" && "Connecting…"}
        {server.state === "unreachable" && `No answer since ${server.since.toLocaleTimeString()}`}
      </p>
      <a href="/">New chat</a>
      {error && (
        <p role="alert">
          {error.message}{" "}
          <button type="button" onClick={() => retry()}>
            Try again
          </button>
        </p>
      )}
    </header>
  );
}

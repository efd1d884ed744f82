import { Component, type ReactNode } from "react";
import { Untrusted } from "../text/Untrusted";

interface Props {
  children: ReactNode;
}

interface State {
  error: Error | undefined;
}

/** Keeps the rest of the console usable when a part of it fails. React has no hook for this. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="empty" role="alert">
        <h2>Something broke here</h2>
        <p>
          <Untrusted text={error.message} reading="prose" />
        </p>
        <button type="button" className="button" onClick={() => this.setState({ error: undefined })}>
          Try again
        </button>
      </div>
    );
  }
}

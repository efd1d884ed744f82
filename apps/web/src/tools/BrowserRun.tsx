import type { ToolProgress } from "holdpoint";
import { useEffect, useState } from "react";
import { Untrusted } from "../text/Untrusted";
import type { CardState } from "./callStatus";
import { cardOf } from "./registry";

interface Props {
  toolName: string;
  state: CardState;
  /** The progress of the call in this page. */
  run: ToolProgress | undefined;
  onRetry: () => void;
}

/** The progress of a browser call, what it waits for, and why it failed. */
export function BrowserRun({ toolName, state, run, onRetry }: Props) {
  const isWaiting = state.kind === "running" && state.where === "browser";
  if (run?.error !== undefined && state.kind !== "settled") {
    return (
      <>
        <p className="tool-card__error" role="alert">
          <Untrusted text={run.error.message} reading="prose" />
        </p>
        {!cardOf(toolName).bodyRetries && (
          <button type="button" className="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </>
    );
  }
  if (!isWaiting) return null;
  if (run?.state === "running") return <PromptHint toolName={toolName} />;
  return <p className="tool-card__note">It runs in a browser that has this chat open.</p>;
}

/** The browser may show a permission prompt that the user has not noticed. */
function PromptHint({ toolName }: { toolName: string }) {
  const permission = usePermission(cardOf(toolName).permission);
  if (permission !== "prompt") return null;
  return (
    <p className="tool-card__note" role="status">
      <b>Your browser is asking you.</b> Look for its question at the top of the window, beside the address. The call
      waits until you answer there.
    </p>
  );
}

/** Whether the browser still has to ask for a permission. */
function usePermission(name: PermissionName | undefined): PermissionState | undefined {
  const [state, setState] = useState<PermissionState>();
  useEffect(() => {
    if (name === undefined) return;
    let isGone = false;
    let permission: PermissionStatus | undefined;
    const follow = () => setState(permission?.state);
    navigator.permissions
      ?.query({ name })
      .then((found) => {
        if (isGone) return;
        permission = found;
        found.addEventListener("change", follow);
        follow();
      })
      // The browser does not know this permission, so its state is unknown.
      .catch(() => undefined);
    return () => {
      isGone = true;
      permission?.removeEventListener("change", follow);
    };
  }, [name]);
  return state;
}

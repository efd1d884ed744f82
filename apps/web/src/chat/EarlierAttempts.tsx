import { callStatus } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { History } from "lucide-react";
import type { ToolSpec } from "../api/types";
import { CallCard } from "../tools/CallCard";

interface Props {
  holds: readonly ChatHold[];
  toolNamed: (name: string) => ToolSpec | undefined;
}

/**
 * Calls of turns that were regenerated or edited away. They stay visible, because a regeneration does not undo what
 * ran.
 */
export function EarlierAttempts({ holds, toolNamed }: Props) {
  if (holds.length === 0) return null;
  return (
    <section className="earlier" aria-label="Earlier attempts">
      <p className="earlier__title">
        <History size={14} aria-hidden="true" />
        {holds.length === 1 ? "Earlier attempt" : `Earlier attempts, ${holds.length} calls`}
        <span className="earlier__note">replaced by the answer below; its effects remain</span>
      </p>
      {holds.map((hold) => {
        const tool = toolNamed(hold.toolName);
        const { toolCallId, toolName, input } = hold;
        const state = callStatus(undefined, { hold, tool });
        return (
          <CallCard
            key={toolCallId}
            call={{ toolCallId, toolName, input, state, request: undefined, progress: undefined }}
            tool={tool}
            lead="Earlier attempt"
            decide={undefined}
            isCompact
            attributes={{ "data-earlier": "true" }}
          />
        );
      })}
    </section>
  );
}

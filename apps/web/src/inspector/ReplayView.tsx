import type { ChatHold } from "holdpoint/protocol";
import { useTools } from "holdpoint/react";
import { Pause, Play, RotateCcw, SkipForward, StepForward, X } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useServer } from "../api/server";
import { AssistantMessage } from "../chat/AssistantMessage";
import type { CallLookup } from "../chat/callRecords";
import { useStore } from "../store";
import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Recording } from "./entry";
import { Player } from "./player";
import { RecordingView } from "./RecordingView";

interface Props {
  name: string;
  recording: Recording;
  onClose: () => void;
}

const NO_ATTEMPTS: readonly ChatHold[] = [];

/** Replays a capture: the message as a client would show it, and its records. */
export function ReplayView({ name, recording, onClose }: Props) {
  const [player] = useState(() => new Player(recording));
  const { position, isPlaying, speed, messages, error } = useStore(player);
  const { tools } = useTools(useServer());
  const total = recording.entries.length;

  useEffect(() => {
    player.play();
    return () => player.pause();
  }, [player]);

  const played = useMemo(
    () => ({ ...recording, entries: recording.entries.slice(0, position) }),
    [recording, position],
  );
  const lookup = useMemo<CallLookup>(
    () => ({
      toolNamed: (tool) => tools?.find((candidate) => candidate.name === tool),
      holdOf: () => undefined,
      pendingOf: () => undefined,
      progressOf: () => undefined,
      runOf: () => undefined,
      actions: undefined,
    }),
    [tools],
  );
  return (
    <div className="replay">
      <div className="replay__bar" role="toolbar" aria-label="Replay">
        <span className="replay__name" title={visible(name)}>
          <Untrusted text={name} />
        </span>
        <button
          type="button"
          className="icon-button"
          aria-label={isPlaying ? "Pause" : "Play"}
          onClick={() => (isPlaying ? player.pause() : player.play())}
        >
          {isPlaying ? <Pause size={16} aria-hidden="true" /> : <Play size={16} aria-hidden="true" />}
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Next record"
          disabled={position >= total}
          onClick={() => player.step()}
        >
          <StepForward size={16} aria-hidden="true" />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="To the end"
          disabled={position >= total}
          onClick={() => player.end()}
        >
          <SkipForward size={16} aria-hidden="true" />
        </button>
        <button type="button" className="icon-button" aria-label="Restart" onClick={() => player.restart()}>
          <RotateCcw size={15} aria-hidden="true" />
        </button>
        <label className="replay__speed">
          <span className="visually-hidden">Speed</span>
          <select value={speed} onChange={(event) => player.setSpeed(Number(event.target.value))}>
            {[0.5, 1, 4].map((factor) => (
              <option key={factor} value={factor}>
                {factor}×
              </option>
            ))}
          </select>
        </label>
        <button type="button" className="icon-button" aria-label="Close the replay" onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </button>
      </div>
      <progress className="replay__progress" aria-label="Played" value={position} max={total} />
      <div className="replay__message">
        {messages.map((message) => (
          <AssistantMessage
            key={message.id}
            message={message}
            lookup={lookup}
            earlier={NO_ATTEMPTS}
            isStreaming={false}
            onRegenerate={undefined}
          />
        ))}
        {error !== undefined && (
          <p className="tool-card__error">
            The SDK's reader says: <Untrusted text={error} reading="prose" />
          </p>
        )}
      </div>
      <RecordingView recording={played} isPast />
    </div>
  );
}

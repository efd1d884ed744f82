import { Music, Square, VolumeX } from "lucide-react";
import { useStore } from "../store";
import { musicStore, stopMusic, unmute } from "./music";

export function NowPlaying() {
  const music = useStore(musicStore);
  if (music === undefined) return null;
  return (
    <div className="now-playing" role="status">
      <Music size={14} aria-hidden="true" />
      <span>Track {music.track}</span>
      {!music.isAudible && (
        <button
          type="button"
          className="icon-button"
          aria-label="Your browser keeps it silent: play it"
          title="Your browser keeps it silent: play it"
          onClick={unmute}
        >
          <VolumeX size={14} aria-hidden="true" />
        </button>
      )}
      <button
        type="button"
        className="icon-button"
        aria-label="Stop the music"
        title="Stop the music"
        onClick={stopMusic}
      >
        <Square size={12} aria-hidden="true" />
      </button>
    </div>
  );
}

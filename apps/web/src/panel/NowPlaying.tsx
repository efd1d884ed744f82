import { Music, Square } from "lucide-react";
import { useStore } from "../store";
import { musicStore, stopMusic } from "./music";

export function NowPlaying() {
  const track = useStore(musicStore);
  if (track === undefined) return null;
  return (
    <div className="now-playing" role="status">
      <Music size={14} aria-hidden="true" />
      <span>Track {track}</span>
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

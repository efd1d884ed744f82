import { Activity, Download, Eraser, FolderOpen } from "lucide-react";
import { useRef, useState } from "react";
import { useStore } from "../store";
import { Untrusted } from "../text/Untrusted";
import { parse, serialise } from "./capture";
import { download } from "./download";
import type { Recording } from "./entry";
import { RecordingView } from "./RecordingView";
import { ReplayView } from "./ReplayView";
import { recorderOf } from "./recordings";
import { checkable } from "./turns";

interface Props {
  chatId: string;
}

interface Replay {
  name: string;
  recording: Recording;
}

export function InspectorPanel({ chatId }: Props) {
  const recorder = recorderOf(chatId);
  const recording = useStore(recorder);
  const [replay, setReplay] = useState<Replay>();
  const [problem, setProblem] = useState<string>();
  const [isDragged, setIsDragged] = useState(false);
  const picker = useRef<HTMLInputElement>(null);

  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const read = parse(await file.text());
    const isCapture = read.entries.some(({ kind }) => kind === "chunk");
    setProblem(isCapture ? undefined : `${file.name} has no chunks in it.`);
    if (isCapture) setReplay({ name: file.name, recording: read });
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is an extra; the button does the same
    <div
      className="inspector"
      data-dragged={isDragged}
      onDragOver={(event) => {
        event.preventDefault();
        setIsDragged(true);
      }}
      onDragLeave={() => setIsDragged(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsDragged(false);
        void open(event.dataTransfer.files[0]);
      }}
    >
      <div className="inspector__bar">
        <button
          type="button"
          className="button"
          disabled={recording.entries.length === 0}
          onClick={() => download(`${chatId}.sse`, serialise(checkable(recording)).text)}
        >
          <Download size={15} aria-hidden="true" />
          Download
        </button>
        <button type="button" className="button" onClick={() => picker.current?.click()}>
          <FolderOpen size={15} aria-hidden="true" />
          Replay a file
        </button>
        <input
          ref={picker}
          type="file"
          hidden
          aria-label="Capture file"
          onChange={(event) => {
            void open(event.target.files?.[0]);
            event.target.value = "";
          }}
        />
        <button
          type="button"
          className="icon-button inspector__clear"
          aria-label="Clear the recording"
          title="Clear the recording"
          disabled={recording.entries.length === 0 && recording.dropped === 0}
          onClick={() => recorder.clear()}
        >
          <Eraser size={15} aria-hidden="true" />
        </button>
      </div>
      {problem !== undefined && (
        <p className="tool-card__error" role="alert">
          <Untrusted text={problem} reading="prose" />
        </p>
      )}
      {recording.dropped > 0 && (
        <p className="inspector__dropped" role="note">
          {recording.dropped === 1 ? "1 older record was" : `${recording.dropped} older records were`} dropped to save
          space.
        </p>
      )}
      {replay !== undefined ? (
        <ReplayView key={replay.name} {...replay} onClose={() => setReplay(undefined)} />
      ) : recording.entries.length > 0 ? (
        <RecordingView recording={recording} />
      ) : (
        <div className="empty">
          <Activity size={26} aria-hidden="true" />
          <h2>{recording.dropped > 0 ? "The earlier traffic is not kept" : "No traffic yet"}</h2>
          <p>
            Send a message to see every chunk as it arrives, who waits for whom, and whether a rule is broken. Or drop a
            capture here.
          </p>
        </div>
      )}
    </div>
  );
}

import { Download } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useClient } from "../api/server";
import { saveFile } from "../shell/saveFile";
import { Untrusted } from "../text/Untrusted";
import { fileNameOf, isPicture, type StoredFile, sizeOf } from "./storedFiles";

interface Props {
  files: readonly StoredFile[];
  /** The call's title. */
  title: string;
}

/** The files that a call has produced: pictures as such, all of them to save. */
export function StoredFiles({ files, title }: Props) {
  if (files.length === 0) return null;
  return (
    <ul className="files" aria-label={`Files of ${title}`}>
      {files.map((file) => (
        <li key={file.url} className="files__item">
          {isPicture(file) && <Picture file={file} title={title} />}
          <Save file={file} />
        </li>
      ))}
    </ul>
  );
}

/** The key is in a header, which an `img` of the link itself would not send. */
function Picture({ file, title }: { file: StoredFile; title: string }) {
  const client = useClient();
  const frame = useRef<HTMLDivElement>(null);
  const wasSeen = useWasSeen(frame);
  const [shown, setShown] = useState<{ source: string } | { trouble: string }>();
  const { url, mediaType } = file;
  useEffect(() => {
    if (!wasSeen) return;
    const end = new AbortController();
    let source: string | undefined;
    client.chats.file(url, { signal: end.signal }).then(
      (bytes) => {
        if (end.signal.aborted) return;
        // One of the kinds above, whatever the response says: an address like this is of the console's own origin.
        source = URL.createObjectURL(bytes.slice(0, bytes.size, mediaType));
        setShown({ source });
      },
      (error: Error) => end.signal.aborted || setShown({ trouble: error.message }),
    );
    return () => {
      end.abort();
      if (source !== undefined) URL.revokeObjectURL(source);
      setShown(undefined);
    };
  }, [wasSeen, url, mediaType, client]);
  return (
    <div ref={frame} className="files__picture">
      {shown !== undefined && "source" in shown && (
        <img
          src={shown.source}
          alt={`From ${title}`}
          onError={() => setShown({ trouble: "The file is not a picture that can be shown." })}
        />
      )}
      {shown !== undefined && "trouble" in shown && (
        <p className="tool-card__note">
          <Untrusted text={shown.trouble} reading="prose" />
        </p>
      )}
    </div>
  );
}

/** Whether an element has been in view. A long chat does not load all its pictures at once. */
function useWasSeen(element: RefObject<Element | null>): boolean {
  const [wasSeen, setWasSeen] = useState(false);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      setWasSeen(true);
      observer.disconnect();
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return wasSeen;
}

function Save({ file }: { file: StoredFile }) {
  const client = useClient();
  const [state, setState] = useState<"idle" | "reading" | { trouble: string }>("idle");
  const save = () => {
    setState("reading");
    client.chats.file(file.url).then(
      (bytes) => {
        // No kind that a browser would open as a page of this origin.
        saveFile(fileNameOf(file), bytes.slice(0, bytes.size, "application/octet-stream"));
        setState("idle");
      },
      (error: Error) => setState({ trouble: error.message }),
    );
  };
  return (
    <div className="files__save">
      <button
        type="button"
        className="button"
        aria-disabled={state === "reading"}
        onClick={() => {
          if (state !== "reading") save();
        }}
      >
        <Download size={14} aria-hidden="true" />
        Download {fileNameOf(file)}
      </button>
      <span className="files__about">
        <Untrusted text={file.mediaType} />
        {file.bytes !== undefined && `, ${sizeOf(file.bytes)}`}
      </span>
      {typeof state === "object" && (
        <p className="tool-card__error" role="alert">
          It was not downloaded: <Untrusted text={state.trouble} reading="prose" />
        </p>
      )}
    </div>
  );
}

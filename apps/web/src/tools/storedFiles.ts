import { callOfFile } from "holdpoint";

/** A file that a call has produced, from the link in its output. */
export interface StoredFile {
  url: string;
  /** What the tool said that it is. */
  mediaType: string;
  bytes: number | undefined;
}

/** An output has at most 4 MiB, but its files are near its top. */
const MAX_VALUES = 5_000;
const MAX_FILES = 50;

/** The files of a call, in the order of its output. Links to anything but this call's own files are only text. */
export function storedFilesOf(output: unknown, toolCallId: string): StoredFile[] {
  const files = new Map<string, StoredFile>();
  const left = [output];
  for (let seen = 0; seen < MAX_VALUES && files.size < MAX_FILES; seen++) {
    const value = left.pop();
    if (value === undefined && left.length === 0) break;
    if (typeof value !== "object" || value === null) continue;
    const file = fileOf(value, toolCallId);
    if (file !== undefined) files.set(file.url, file);
    else left.push(...Object.values(value).slice(0, MAX_VALUES).reverse());
  }
  return [...files.values()];
}

function fileOf(value: object, toolCallId: string): StoredFile | undefined {
  const { url, mimeType, bytes } = value as Record<string, unknown>;
  if (typeof url !== "string" || typeof mimeType !== "string" || callOfFile(url) !== toolCallId) return undefined;
  return { url, mediaType: mimeType, bytes: typeof bytes === "number" ? bytes : undefined };
}

/** Kinds that the page shows, as the server does: no SVG, which is a document. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function isPicture({ mediaType }: StoredFile): boolean {
  return PICTURES.includes(mediaType);
}

const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "audio/wav": "wav",
  "video/mp4": "mp4",
  "video/webm": "webm",
  "application/pdf": "pdf",
  "application/json": "json",
  "application/zip": "zip",
  "text/csv": "csv",
  "text/plain": "txt",
};

/** A name to save it under. Nothing of it is the tool's. */
export function fileNameOf({ url, mediaType }: StoredFile): string {
  const index = Number(url.slice(url.lastIndexOf("/") + 1)) + 1;
  return `file-${index}.${Object.hasOwn(ENDINGS, mediaType) ? ENDINGS[mediaType] : "bin"}`;
}

/** Its size in the units that people use. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  return bytes < 999_500 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

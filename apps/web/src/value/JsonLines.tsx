import { useMemo } from "react";
import { runsOf } from "../text/runs";
import { Runs } from "../text/Untrusted";
import { wrapRuns } from "../text/wrap";
import { tokensOf } from "./json";

/** One line of formatted JSON: its indentation and its tokens, wrapped if long. */
export interface JsonLine {
  indent: number;
  isContinued: boolean;
  pieces: readonly string[];
}

export function jsonLinesOf(json: string): JsonLine[] {
  return json.split("\n").flatMap((line) => {
    const text = line.trimStart();
    const indent = (line.length - text.length) / 2;
    const [first = [], ...rest] = wrapTokens(tokensOf(text));
    return [
      { indent, isContinued: false, pieces: first },
      ...rest.map((pieces) => ({ indent, isContinued: true, pieces })),
    ];
  });
}

function wrapTokens(tokens: readonly string[]): string[][] {
  const lines: string[][] = [[]];
  for (const token of tokens) {
    const [first = "", ...rest] = wrapRuns([{ kind: "text", text: token }]).map((runs) =>
      runs.map((run) => (run.kind === "text" ? run.text : "")).join(""),
    );
    lines.at(-1)?.push(first);
    for (const piece of rest) lines.push([piece]);
  }
  return lines;
}

interface Props {
  lines: readonly JsonLine[];
  /** The number of lines to show. */
  limit: number;
}

/** JSON with numbered lines. Each string keeps its own direction. */
export function JsonLines({ lines, limit }: Props) {
  const shown = useMemo(() => lines.slice(0, limit), [lines, limit]);
  return (
    <pre className="json" dir="ltr">
      {shown.map(({ indent, isContinued, pieces }, at) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by number
          key={at}
          className="json__line"
          data-line={at}
          data-continued={isContinued}
          style={{ "--depth": indent }}
        >
          {pieces.map((piece, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line do not move
            <Runs key={place} runs={runsOf(piece, "prose")} />
          ))}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

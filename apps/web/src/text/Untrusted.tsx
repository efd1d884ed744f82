import { memo } from "react";
import { codeOf, type Reading, type Run, runsOf } from "./runs";

interface Props {
  text: string;
  /** Default: every character matters and is shown. */
  reading?: Reading;
  /** Names every character that could be mistaken for another, for names that look alike. */
  isSpelled?: boolean;
}

/**
 * A string from a model, a tool or a person, shown faithfully: invisible and direction-changing characters become
 * escapes, and its direction is isolated. Everything that the console did not write itself goes through here or through
 * `visible`.
 */
export const Untrusted = memo(({ text, reading = "data", isSpelled = false }: Props) => {
  const runs = runsOf(text, reading);
  return <Runs runs={isSpelled ? runs.flatMap(spell) : runs} />;
});

/** `Untrusted`, for a string that is already split into runs. */
export function Runs({ runs }: { runs: readonly Run[] }) {
  return (
    <bdi className="untrusted">
      {runs.map((run, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the runs of a text do not move
        <Piece key={at} run={run} />
      ))}
    </bdi>
  );
}

function Piece({ run }: { run: Run }) {
  switch (run.kind) {
    case "text":
      return run.text;
    case "hidden":
      return (
        <span className="untrusted__hidden" title={run.name}>
          {run.code}
        </span>
      );
    case "lookalike":
      return (
        <span className="untrusted__lookalike">
          {run.text}
          <span className="untrusted__code">{run.code}</span>
        </span>
      );
    case "space":
      return (
        <>
          <span className="untrusted__space" title={run.name} role="img" aria-label={run.name}>
            {run.mark}
          </span>
          {run.isBreak && <br />}
        </>
      );
  }
}

/** Non-ASCII characters, and ASCII characters that look like others. */
const DOUBTFUL = /([^\x20-\x7e]|[Il1|O0])/u;

function spell(run: Run): Run[] {
  if (run.kind !== "text") return [run];
  return run.text
    .split(DOUBTFUL)
    .filter((piece) => piece !== "")
    .map((piece) =>
      DOUBTFUL.test(piece) ? { kind: "lookalike", text: piece, code: codeOf(piece) } : { kind: "text", text: piece },
    );
}

import { useTools } from "holdpoint/react";
import { useEffect, useMemo, useState } from "react";
import { useServer } from "../api/server";
import { ChunkList } from "./ChunkList";
import type { Recording } from "./entry";
import { FilterBar } from "./FilterBar";
import { applyFilter, NO_FILTER } from "./filter";
import { spansOf } from "./lanes";
import { SwimLane } from "./SwimLane";
import { TurnPicker } from "./TurnPicker";
import { turnsOf } from "./turns";
import { useVerdict } from "./useVerdict";
import { VerdictLine } from "./VerdictLine";

interface Props {
  recording: Recording;
  /** It comes from a file, so no time is added to open bars. */
  isPast?: boolean;
}

const NOTHING_FLAGGED: ReadonlyMap<number, string> = new Map();

/** A recording: the timeline of one turn, the checker's verdict, and every record. */
export function RecordingView({ recording, isPast = false }: Props) {
  const [filter, setFilter] = useState(NO_FILTER);
  const [chosen, setChosen] = useState<number>();
  const { tools } = useTools(useServer());
  const turns = useMemo(() => turnsOf(recording), [recording]);
  const index = Math.min(chosen ?? turns.length - 1, turns.length - 1);
  const turn = turns[index];
  const time = useNow(turn !== undefined && index === turns.length - 1 && !isPast);
  const now = isPast ? (turn?.recording.entries.at(-1)?.at ?? time) : time;
  const verdict = useVerdict(turn);

  const spans = useMemo(() => {
    if (turn === undefined) return [];
    const runsInBrowser = (name: string) => {
      const tool = tools?.find((candidate) => candidate.name === name);
      return tool !== undefined && tool.execution !== "server";
    };
    return spansOf(turn.recording, runsInBrowser, now);
  }, [turn, tools, now]);

  // Before the first response there are only requests.
  const listed = turn?.recording ?? recording;
  const shown = useMemo(() => applyFilter(listed.entries, filter), [listed, filter]);
  return (
    <>
      {turns.length > 1 && (
        <TurnPicker
          index={index}
          count={turns.length}
          onChange={(next) => setChosen(next === turns.length - 1 ? undefined : next)}
        />
      )}
      {turn !== undefined && <SwimLane spans={spans} />}
      <VerdictLine verdict={verdict} />
      <FilterBar recording={listed} filter={filter} onChange={setFilter} shown={shown} />
      <ChunkList
        entries={shown}
        start={startOf(listed)}
        flagged={verdict?.state === "checked" ? verdict.flagged : NOTHING_FLAGGED}
      />
    </>
  );
}

/** When it began: with a request or a response, whichever was first. */
function startOf({ entries, segments }: Recording): number {
  const [first = 0, ...others] = [entries[0]?.at, segments[0]?.startedAt].filter((time) => time !== undefined);
  return Math.min(first, ...others);
}

/** The current time. It ticks while a turn may still be open, because its last bar grows. */
function useNow(isMoving: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isMoving]);
  return now;
}

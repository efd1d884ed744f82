import { useId } from "react";
import { CopyButton } from "../shell/CopyButton";
import { serialise } from "./capture";
import type { Entry, Recording } from "./entry";
import { DIRECTIONS, type Direction, type Filter, ndjson, typesOf } from "./filter";

interface Props {
  recording: Recording;
  filter: Filter;
  onChange: (filter: Filter) => void;
  /** The entries that the filter lets through. */
  shown: readonly Entry[];
}

const NAMES: Record<Direction, string> = { received: "Received", sent: "Sent", page: "In this page" };

/** Chooses which records are listed, and copies those. */
export function FilterBar({ recording, filter, onChange, shown }: Props) {
  const counted = useId();
  const total = recording.entries.length;
  return (
    <search className="filter" aria-label="Records">
      <input
        type="search"
        className="field filter__text"
        aria-label="Filter by text"
        aria-describedby={counted}
        placeholder="Filter"
        value={filter.text}
        onChange={({ target }) => onChange({ ...filter, text: target.value })}
      />
      <select
        aria-label="Direction"
        value={filter.direction ?? ""}
        onChange={({ target }) =>
          onChange({ ...filter, direction: DIRECTIONS.find((name) => name === target.value), type: undefined })
        }
      >
        <option value="">All directions</option>
        {DIRECTIONS.map((name) => (
          <option key={name} value={name}>
            {NAMES[name]}
          </option>
        ))}
      </select>
      <select
        aria-label="Type"
        value={filter.type ?? ""}
        onChange={({ target }) => onChange({ ...filter, type: target.value || undefined })}
      >
        <option value="">All types</option>
        {typesOf(recording.entries).map(([type, count]) => (
          <option key={type} value={type}>
            {type} ({count})
          </option>
        ))}
      </select>
      <span className="filter__row">
        <span id={counted} className="filter__count" role="status">
          {shown.length === total ? `${total} records` : `${shown.length} of ${total} records`}
        </span>
        <CopyButton label="Copy the list as NDJSON" name="NDJSON" text={() => ndjson(shown)} />
        <CopyButton
          label="Copy the list as a capture"
          name="SSE"
          text={() => serialise({ ...recording, entries: shown }).text}
        />
      </span>
    </search>
  );
}

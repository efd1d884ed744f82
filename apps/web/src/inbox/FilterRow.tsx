import { Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { type InboxFilter, navigateInbox } from "../shell/route";
import { visible } from "../text/runs";

interface Choice {
  value: string;
  label: string;
}

interface Props {
  filter: InboxFilter;
  tools: readonly Choice[];
  requesters: readonly Choice[];
  chats: readonly Choice[];
}

/** Long enough that a word is not searched for letter by letter. */
const TYPING_MS = 250;

/** Which requests are listed, and in which order. */
export function FilterRow({ filter, tools, requesters, chats }: Props) {
  const [typed, setTyped] = useState(filter.q ?? "");
  const latest = useRef(filter);
  latest.current = filter;
  const change = (next: InboxFilter) => navigateInbox({ filter: { ...latest.current, ...next } });

  useEffect(() => {
    if (typed.trim() === (latest.current.q ?? "")) return;
    const timer = setTimeout(
      () => navigateInbox({ filter: { ...latest.current, q: typed.trim() || undefined } }),
      TYPING_MS,
    );
    return () => clearTimeout(timer);
  }, [typed]);
  // Back, or the palette, may change it too.
  useEffect(() => setTyped((before) => (before.trim() === (filter.q ?? "") ? before : (filter.q ?? ""))), [filter.q]);

  const isFiltered = [filter.tool, filter.chat, filter.requestedBy, filter.q].some((value) => value !== undefined);
  return (
    <search className="filters" aria-label="Filter the approval requests">
      <div className="filters__search">
        <Search size={15} aria-hidden="true" />
        <input
          type="search"
          className="field"
          aria-label="Search"
          placeholder="Search tools, people, inputs"
          autoComplete="off"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </div>
      <Choose name="Tool" any="All tools" value={filter.tool} choices={tools} onChange={(tool) => change({ tool })} />
      <Choose
        name="Requested by"
        any="Everybody"
        value={filter.requestedBy}
        choices={requesters}
        onChange={(requestedBy) => change({ requestedBy })}
      />
      <Choose name="Chat" any="All chats" value={filter.chat} choices={chats} onChange={(chat) => change({ chat })} />
      <select
        className="field"
        aria-label="Order"
        value={filter.order ?? "oldest"}
        onChange={({ target }) => change({ order: target.value === "newest" ? "newest" : undefined })}
      >
        <option value="oldest">Oldest first</option>
        <option value="newest">Newest first</option>
      </select>
      {isFiltered && (
        <button
          type="button"
          className="button filters__clear"
          onClick={() => navigateInbox({ filter: { order: filter.order } })}
        >
          <X size={14} aria-hidden="true" />
          Clear
        </button>
      )}
    </search>
  );
}

interface ChooseProps {
  name: string;
  /** The choice of no filter. */
  any: string;
  value: string | undefined;
  choices: readonly Choice[];
  onChange: (value: string | undefined) => void;
}

function Choose({ name, any, value, choices, onChange }: ChooseProps) {
  // What is chosen need not be in what is loaded.
  const all = value === undefined || choices.some((choice) => choice.value === value);
  const listed = all ? choices : [...choices, { value, label: value }];
  return (
    <select
      className="field"
      aria-label={name}
      data-on={value !== undefined}
      // By number: an attribute would show a value as it is.
      value={listed.findIndex((choice) => choice.value === value)}
      onChange={({ target }) => onChange(listed[Number(target.value)]?.value)}
    >
      <option value={-1}>{any}</option>
      {listed.map((choice, at) => (
        <option key={choice.value} value={at}>
          {visible(choice.label)}
        </option>
      ))}
    </select>
  );
}

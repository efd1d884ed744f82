import { type ReactNode, useMemo } from "react";
import { visible } from "../text/runs";
import { Runs, Untrusted } from "../text/Untrusted";
import type { Line, Name } from "./lines";
import { Records } from "./Records";

interface Props {
  caption: string;
  lines: readonly Line[];
  /** The number of lines to show. */
  limit: number;
}

/** Lines that are drawn together: a field, the lines of one string, the rows of one table. */
interface Block {
  /** The number of its first line. */
  at: number;
  lines: Line[];
}

/** A value as a table of its fields, with numbered lines. */
export function Lines({ caption, lines, limit }: Props) {
  const blocks = useMemo(() => blocksOf(lines.slice(0, limit)), [lines, limit]);
  return (
    <table className="lines">
      <caption className="visually-hidden">{visible(caption)}</caption>
      <colgroup>
        <col className="lines__names" />
        <col />
      </colgroup>
      <tbody>
        {blocks.map((block) => (
          <BlockRow key={block.at} block={block} />
        ))}
      </tbody>
    </table>
  );
}

function blocksOf(lines: readonly Line[]): Block[] {
  const blocks: Block[] = [];
  for (const [at, line] of lines.entries()) {
    const block = blocks.at(-1);
    const before = block?.lines.at(-1);
    if (block !== undefined && before !== undefined && belongsTo(line, before)) block.lines.push(line);
    else blocks.push({ at, lines: [line] });
  }
  return blocks;
}

function belongsTo(line: Line, before: Line): boolean {
  if (line.content.kind === "text") return line.name === undefined && line.path === before.path;
  if (line.content.kind !== "record" || before.content.kind !== "record") return false;
  return line.content.columns === before.content.columns;
}

function BlockRow({ block: { at, lines } }: { block: Block }) {
  const [first] = lines;
  if (first === undefined) return null;
  const { content, depth, path } = first;
  if (content.kind === "record") {
    return (
      <tr style={{ "--depth": depth }}>
        <td colSpan={2} className="lines__records">
          <Records at={at} path={path} lines={lines} />
        </td>
      </tr>
    );
  }
  if (content.kind === "text") {
    return (
      <Row line={first}>
        {content.isQuoted && <span className="value__quote">“</span>}
        {lines.map((line, offset) => (
          <span key={line.path + String(at + offset)} className="value lines__text" data-line={at + offset}>
            {line.content.kind === "text" && <Runs runs={line.content.runs} />}
          </span>
        ))}
        {content.isQuoted && <span className="value__quote">”</span>}
      </Row>
    );
  }
  return (
    <Row line={first} number={at}>
      {content.kind === "scalar" && <span className="value value--exact">{String(content.value)}</span>}
      {content.kind === "inline" && (
        <code className="value">
          <Untrusted text={content.json} />
        </code>
      )}
      {content.kind === "group" && <span className="lines__group">{sizeOf(content.of, content.size)}</span>}
    </Row>
  );
}

interface RowProps {
  line: Line;
  /** Omitted if its cells have numbers of their own. */
  number?: number;
  children: ReactNode;
}

function Row({ line: { name, depth, path, content }, number, children }: RowProps) {
  return (
    <tr data-line={number} data-kind={content.kind} style={{ "--depth": depth }}>
      {name === undefined && depth === 0 ? null : (
        <th scope="row" title={name?.about && visible(name.about)}>
          {depth > 0 && <span className="visually-hidden">{visible(path)}: </span>}
          {name && <FieldName name={name} />}
        </th>
      )}
      <td colSpan={name === undefined && depth === 0 ? 2 : 1}>{children}</td>
    </tr>
  );
}

export function FieldName({ name: { text, isSpelled } }: { name: Name }) {
  return text === "" ? <span className="value__quote">“”</span> : <Untrusted text={text} isSpelled={isSpelled} />;
}

function sizeOf(of: "object" | "array", size: number): string {
  const noun = of === "object" ? "field" : "item";
  return `${size} ${noun}${size === 1 ? "" : "s"}`;
}

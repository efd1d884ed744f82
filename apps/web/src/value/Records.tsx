import { visible } from "../text/runs";
import { FieldName } from "./Lines";
import type { Line } from "./lines";
import { Scalar } from "./Scalar";

interface Props {
  /** The number of the first line. */
  at: number;
  path: string;
  lines: readonly Line[];
}

/** A list of objects as a table. Without room for columns, each row becomes a small list. */
export function Records({ at, path, lines }: Props) {
  const [first] = lines;
  if (first?.content.kind !== "record") return null;
  const { columns } = first.content;
  return (
    <table className="records" data-wide={columns.length > 2}>
      <caption className="visually-hidden">{visible(path)}</caption>
      <thead className="records__heads">
        <tr>
          <th scope="col" className="records__number">
            <span className="visually-hidden">Number</span>
          </th>
          {columns.map((name) => (
            <th key={name.text} scope="col" className="records__head" title={name.about && visible(name.about)}>
              <FieldName name={name} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map(({ content, path: rowPath }, offset) => (
          <tr key={rowPath} className="records__row" data-line={at + offset}>
            <td className="records__number">{content.kind === "record" && content.place}</td>
            {columns.map((name, column) => (
              <td key={name.text} className="records__cell">
                <span className="records__label" aria-hidden="true">
                  <FieldName name={name} />
                </span>
                <Scalar value={content.kind === "record" ? content.cells[column] : undefined} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

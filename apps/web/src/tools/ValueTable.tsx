import type { ToolInfo } from "../api/types";
import { Value } from "./Value";

interface Props {
  caption: string;
  value: unknown;
  /** Says what each field means. */
  tool?: ToolInfo | undefined;
}

/** An object as a table of its fields; what is no object is shown as it is. */
export function ValueTable({ caption, value, tool }: Props) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <Value value={value} />;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (fields.length === 0) return <p className="value-table__empty">No fields</p>;
  return (
    <table className="value-table">
      <caption className="visually-hidden">{caption}</caption>
      <tbody>
        {fields.map(([name, field]) => (
          <tr key={name}>
            <th scope="row" title={tool?.inputSchema?.properties?.[name]?.description}>
              {name}
            </th>
            <td>
              <Value value={field} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

import type { ToolInfo } from "../api/types";
import type { AnyToolPart } from "./toolStatus";
import { ValueTable } from "./ValueTable";

interface Props {
  part: AnyToolPart;
  title: string;
  tool: ToolInfo | undefined;
}

/** What the call was asked with; folded once there is a result, which usually says it again. */
export function ToolInput({ part, title, tool }: Props) {
  const table = <ValueTable caption={`Input of ${title}`} value={part.input} tool={tool} />;
  if (part.state !== "output-available") return table;
  return (
    <details className="tool-card__fold">
      <summary>Input</summary>
      {table}
    </details>
  );
}

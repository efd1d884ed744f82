import type { AnyToolPart } from "./toolStatus";
import { ValueTable } from "./ValueTable";

interface Props {
  part: AnyToolPart;
  title: string;
}

/** The result or the error of a call that is settled. */
export function ToolOutcome({ part, title }: Props) {
  switch (part.state) {
    case "output-available":
      return (
        <details className="tool-card__fold" open>
          <summary>Result</summary>
          <ValueTable caption={`Result of ${title}`} value={part.output} />
        </details>
      );
    case "output-error":
      return <p className="tool-card__error">{part.errorText}</p>;
    case "output-denied":
      return (
        <p className="tool-card__error">
          You denied this call{part.approval?.reason ? `: ${part.approval.reason}` : ""}.
        </p>
      );
    default:
      return null;
  }
}

import { Value } from "../tools/Value";
import type { GivenAnswer } from "./answer";

const WORDS: Record<string, string> = {
  accept: "You answered.",
  decline: "You declined to answer.",
  cancel: "The question was put away without an answer.",
};

/** What was answered. */
export function AskAnswer({ answer: { action, rows } }: { answer: GivenAnswer }) {
  if (rows.length === 0) return <p className="tool-card__note">{WORDS[action] ?? action}</p>;
  return (
    <table className="value-table">
      <caption className="visually-hidden">Your answer</caption>
      <tbody>
        {rows.map(({ label, value }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two fields may have the same label, and rows do not move
          <tr key={at}>
            <th scope="row">{label}</th>
            <td>
              <Value value={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

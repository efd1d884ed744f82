import { Untrusted } from "../text/Untrusted";
import { Scalar } from "../value/Scalar";
import type { GivenAnswer } from "./answer";

/** The record does not say who answered. */
const WORDS: Record<string, string> = {
  accept: "Answered, without any fields.",
  decline: "The prompt was declined.",
  cancel: "The prompt was dismissed.",
};

/** The answer to a prompt. */
export function PromptAnswer({ answer: { action, rows } }: { answer: GivenAnswer }) {
  if (rows.length === 0) return <p className="tool-card__note">{WORDS[action] ?? <Untrusted text={action} />}</p>;
  return (
    <table className="lines">
      <caption className="visually-hidden">The answer</caption>
      <colgroup>
        <col className="lines__names" />
        <col />
      </colgroup>
      <tbody>
        {rows.map(({ label, value }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two fields may have the same label, and rows do not move
          <tr key={at}>
            <th scope="row">
              <Untrusted text={label} />
            </th>
            <td>
              <Scalar value={typeof value === "object" && value !== null ? JSON.stringify(value) : value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

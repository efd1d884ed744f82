import { OctagonAlert, TriangleAlert } from "lucide-react";
import { useId } from "react";
import { breadthOf, choiceText, DURATIONS, type Duration, NARROWEST, type RememberChoice } from "./remember";

interface Props {
  /** `undefined` while nothing is to be remembered. */
  choice: RememberChoice | undefined;
  /** The owner of the chat. */
  owner: string;
  isInvalid: boolean;
  onChange: (choice: RememberChoice | undefined) => void;
}

/** Whether later calls run without a question, and which. */
export function RememberField({ choice, owner, isInvalid, onChange }: Props) {
  const id = useId();
  return (
    <div className="remember" data-on={choice !== undefined}>
      <label className="prompt__tick">
        <input
          type="checkbox"
          checked={choice !== undefined}
          onChange={({ target }) => onChange(target.checked ? NARROWEST : undefined)}
        />
        Remember my approval
      </label>
      {choice && (
        <fieldset className="remember__choices" data-breadth={breadthOf(choice)}>
          <legend className="visually-hidden">What runs without a question from now on</legend>
          <label className="remember__choice">
            <span>What</span>
            <select
              className="field"
              value={choice.match}
              onChange={({ target }) => onChange({ ...choice, match: target.value === "tool" ? "tool" : "input" })}
            >
              <option value="input">this exact input</option>
              <option value="tool">any input</option>
            </select>
          </label>
          <label className="remember__choice">
            <span>Where</span>
            <select
              className="field"
              value={choice.scope}
              onChange={({ target }) => onChange({ ...choice, scope: target.value === "subject" ? "subject" : "chat" })}
            >
              <option value="chat">this chat</option>
              <option value="subject">all their chats</option>
            </select>
          </label>
          <label className="remember__choice">
            <span>For</span>
            <select
              className="field"
              value={choice.duration}
              onChange={({ target }) => onChange({ ...choice, duration: target.value as Duration })}
            >
              {Object.entries(DURATIONS).map(([name, { text }]) => (
                <option key={name} value={name}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <label className="remember__choice">
            <span>At most</span>
            <input
              className="field"
              inputMode="numeric"
              autoComplete="off"
              placeholder="any number"
              value={choice.uses}
              aria-invalid={isInvalid}
              aria-describedby={isInvalid ? `${id}-problem` : undefined}
              onChange={({ target }) => onChange({ ...choice, uses: target.value })}
            />
          </label>
          {isInvalid ? (
            <p className="prompt__problem" id={`${id}-problem`} role="alert">
              Give a number of calls from 1 to 1,000,000, or leave it empty.
            </p>
          ) : (
            <GrantNote choice={choice} owner={owner} />
          )}
        </fieldset>
      )}
    </div>
  );
}

/** What the grant will let through. The more that is, the more it looks like it. */
export function GrantNote({ choice, owner }: { choice: RememberChoice; owner: string }) {
  const breadth = breadthOf(choice);
  return (
    <p className="remember__note" data-breadth={breadth} role="status">
      {breadth === "unlimited" && <OctagonAlert size={15} aria-hidden="true" />}
      {breadth === "wide" && <TriangleAlert size={15} aria-hidden="true" />}
      <span>{choiceText(choice, owner)} You can revoke this under Grants.</span>
    </p>
  );
}

import { useId } from "react";

interface Props {
  reason: string;
  onChange: (reason: string) => void;
}

/** Why a person decides so. It is recorded. */
export function ReasonField({ reason, onChange }: Props) {
  const id = useId();
  return (
    <div className="prompt__field">
      <label className="prompt__label" htmlFor={id}>
        Reason <span className="approval__optional">Optional, for the record</span>
      </label>
      <input
        id={id}
        className="field"
        autoComplete="off"
        maxLength={1000}
        value={reason}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  );
}

import { ChevronLeft, ChevronRight } from "lucide-react";

interface Props {
  index: number;
  count: number;
  onChange: (index: number) => void;
}

export function TurnPicker({ index, count, onChange }: Props) {
  return (
    <div className="turn-picker">
      <button
        type="button"
        className="icon-button"
        aria-label="Earlier turn"
        disabled={index === 0}
        onClick={() => onChange(index - 1)}
      >
        <ChevronLeft size={16} aria-hidden="true" />
      </button>
      <span aria-live="polite">
        Turn {index + 1} of {count}
      </span>
      <button
        type="button"
        className="icon-button"
        aria-label="Later turn"
        disabled={index === count - 1}
        onClick={() => onChange(index + 1)}
      >
        <ChevronRight size={16} aria-hidden="true" />
      </button>
    </div>
  );
}

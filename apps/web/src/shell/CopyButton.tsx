import { Check, Copy, X } from "lucide-react";
import { useEffect, useState } from "react";

interface Props {
  /** The button's label, such as `Copy code`. */
  label: string;
  text: () => string;
  /** Shown beside the icon. */
  name?: string;
}

type Outcome = "none" | "copied" | "failed";

/** Copies a text and shows whether that worked: outside secure contexts it is not allowed. */
export function CopyButton({ label, text, name }: Props) {
  const [outcome, setOutcome] = useState<Outcome>("none");

  useEffect(() => {
    if (outcome === "none") return;
    const timer = setTimeout(() => setOutcome("none"), 2000);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setOutcome("copied");
    } catch {
      setOutcome("failed");
    }
  };
  const said = { none: label, copied: "Copied", failed: "Could not copy: select the text instead" }[outcome];
  return (
    <button
      type="button"
      className={name === undefined ? "icon-button" : "button copy-button"}
      aria-label={said}
      title={said}
      onClick={() => void copy()}
    >
      <Icon outcome={outcome} />
      {name}
    </button>
  );
}

function Icon({ outcome }: { outcome: Outcome }) {
  switch (outcome) {
    case "none":
      return <Copy size={14} aria-hidden="true" />;
    case "copied":
      return <Check size={14} aria-hidden="true" />;
    case "failed":
      return <X size={14} aria-hidden="true" />;
  }
}

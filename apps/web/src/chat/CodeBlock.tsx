import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";

export function CodeBlock({ children }: { children: ReactNode }) {
  const code = useRef<HTMLPreElement>(null);
  const [isCopied, setIsCopied] = useState(false);

  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);

  const copy = async () => {
    // Missing outside of secure contexts; then the text can still be selected.
    await navigator.clipboard?.writeText(code.current?.textContent ?? "");
    setIsCopied(true);
  };
  return (
    <div className="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
      <button
        type="button"
        className="icon-button"
        aria-label={isCopied ? "Copied" : "Copy code"}
        onClick={() => void copy()}
      >
        {isCopied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      </button>
    </div>
  );
}

import { type ReactNode, useRef } from "react";
import { CopyButton } from "../shell/CopyButton";

export function CodeBlock({ children }: { children: ReactNode }) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <div className="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
      {/* Copy what is displayed: invisible characters must not end up in a terminal. */}
      <CopyButton label="Copy code" text={() => code.current?.textContent ?? ""} />
    </div>
  );
}

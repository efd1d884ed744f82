import { ChevronRight } from "lucide-react";
import { Collapsible } from "radix-ui";
import { Untrusted } from "../text/Untrusted";

interface Props {
  text: string;
  isStreaming: boolean;
}

/** The model's reasoning, collapsed. */
export function Reasoning({ text, isStreaming }: Props) {
  if (text.trim() === "" && !isStreaming) return null;
  return (
    <Collapsible.Root className="reasoning">
      <Collapsible.Trigger className="reasoning__trigger">
        <ChevronRight size={14} className="reasoning__chevron" aria-hidden="true" />
        <span data-streaming={isStreaming}>{isStreaming ? "Thinking…" : "Thought about it"}</span>
      </Collapsible.Trigger>
      <Collapsible.Content className="reasoning__text">
        <Untrusted text={text} reading="prose" />
      </Collapsible.Content>
    </Collapsible.Root>
  );
}

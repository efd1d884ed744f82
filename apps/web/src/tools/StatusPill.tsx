import { Check, CircleAlert, Hand, LoaderCircle } from "lucide-react";
import type { CardLabel } from "./callStatus";

export function StatusPill({ status }: { status: CardLabel }) {
  return (
    <span className="pill" data-tone={status.tone}>
      <PillIcon tone={status.tone} />
      {status.label}
    </span>
  );
}

function PillIcon({ tone }: Pick<CardLabel, "tone">) {
  switch (tone) {
    case "busy":
      return <LoaderCircle size={13} className="spin" aria-hidden="true" />;
    case "hold":
      return <Hand size={13} aria-hidden="true" />;
    case "ok":
      return <Check size={13} aria-hidden="true" />;
    case "bad":
      return <CircleAlert size={13} aria-hidden="true" />;
    case "quiet":
      return null;
  }
}

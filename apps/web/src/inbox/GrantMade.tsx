import type { DecisionProgress } from "holdpoint";
import { ShieldCheck } from "lucide-react";
import { INBOX, navigate } from "../shell/route";
import { grantText } from "./remember";

/** Says that a decision of this page has made a grant, and where it can be revoked. */
export function GrantMade({ progress, owner }: { progress: DecisionProgress | undefined; owner: string }) {
  if (progress?.state !== "in-force" || progress.grant === undefined || progress.remember === undefined) return null;
  return (
    <p className="grant-made">
      <ShieldCheck size={14} aria-hidden="true" />
      <span>
        <b>A grant was made:</b> {grantText(progress.remember, owner)}{" "}
        <button type="button" className="link-button" onClick={() => navigate({ place: { ...INBOX, view: "grants" } })}>
          Grants
        </button>
      </span>
    </p>
  );
}

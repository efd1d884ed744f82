import type { Me } from "holdpoint/protocol";
import { CircleUserRound, LogOut } from "lucide-react";
import { keyStore, signOut } from "../api/key";
import { useStore } from "../store";
import { Untrusted } from "../text/Untrusted";
import { useMe } from "./useMe";

/** Who is signed in, and the way out. Nothing until the server has said who it is. */
export function Account() {
  const { key } = useStore(keyStore);
  const me = useMe();
  if (me === undefined) return null;
  return (
    <div className="account" title={detailsOf(me)}>
      <CircleUserRound size={18} className="account__icon" aria-hidden="true" />
      <p className="account__who">
        <span className="account__name">
          <Untrusted text={me.subject} />
        </span>
        <span className="account__roles">{me.roles.join(", ") || "no role"}</span>
      </p>
      {/* Without a key there is nothing to sign out of. */}
      {key !== undefined && (
        <button type="button" className="icon-button" aria-label="Sign out" title="Sign out" onClick={signOut}>
          <LogOut size={16} aria-hidden="true" />
        </button>
      )}
    </div>
  );
}

function detailsOf({ groups, expiresAt }: Me): string | undefined {
  const details = [
    ...(groups.length > 0 ? [`Groups: ${groups.join(", ")}.`] : []),
    ...(expiresAt === undefined ? [] : [`Signed in until ${new Date(expiresAt).toLocaleString()}.`]),
  ];
  return details.length > 0 ? details.join(" ") : undefined;
}

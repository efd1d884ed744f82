import { useServerStatus } from "holdpoint/react";
import { WifiOff } from "lucide-react";
import { useServer } from "../api/server";
import { Time } from "../tools/Time";

/** Shows that the server does not respond, and since when. Disappears on reconnect. */
export function ConnectionBanner() {
  const { state, since } = useServerStatus(useServer());
  if (state !== "unreachable") return null;
  return (
    <div className="banner" role="alert">
      <WifiOff size={16} aria-hidden="true" />
      <p>
        <b>
          The server has not answered since <Time iso={since.toISOString()} />.
        </b>{" "}
        What you see is from before and may have changed. It is tried again all the time.
      </p>
    </div>
  );
}

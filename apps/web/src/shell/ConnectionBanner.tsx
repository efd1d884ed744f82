import { WifiOff } from "lucide-react";
import { useServerStatus } from "../api/connection";
import { Time } from "../tools/Time";

/** Says that the server does not answer, and since when. It goes away by itself. */
export function ConnectionBanner() {
  const { state, since } = useServerStatus();
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

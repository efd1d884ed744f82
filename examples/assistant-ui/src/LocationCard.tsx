import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import type { FoundLocation } from "holdpoint/demo";
import { CallCard } from "./CallCard";

/** The card of `get_location`: shows the browser's result as a link to a map. */
export function LocationCard(part: ToolCallMessagePartProps<Record<string, never>, FoundLocation>) {
  const { result, isError } = part;
  if (result === undefined || isError) return <CallCard {...part} />;
  const { latitude, longitude, accuracy } = result;
  const position = `${latitude.toFixed(4)}, ${longitude.toFixed(4)}`;
  return (
    <CallCard {...part}>
      <p>
        <a href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}`} target="_blank" rel="noreferrer">
          {position}
        </a>{" "}
        (within {accuracy.toFixed()} m)
      </p>
    </CallCard>
  );
}

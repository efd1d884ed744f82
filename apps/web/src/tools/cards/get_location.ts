import { getLocation } from "holdpoint/demo";
import { MapPin } from "lucide-react";
import type { CardEntry } from "../cardEntry";

export default {
  tool: "get_location",
  icon: MapPin,
  handler: getLocation({ position: { timeout: 30_000, maximumAge: 60_000 } }),
  permission: "geolocation",
} satisfies CardEntry;

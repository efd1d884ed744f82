import { CloudSun } from "lucide-react";
import { isObject } from "../../prompt/isObject";
import type { CardEntry } from "../cardEntry";

export default {
  tool: "get_weather",
  icon: CloudSun,
  headline: (input) =>
    isObject(input) && typeof input.location === "string" ? `Weather in ${input.location}` : undefined,
} satisfies CardEntry;

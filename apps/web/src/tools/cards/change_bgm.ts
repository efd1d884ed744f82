import { changeBgm } from "holdpoint/demo";
import { Music } from "lucide-react";
import { playTrack } from "../../panel/music";
import { isObject } from "../../prompt/isObject";
import type { CardEntry } from "../cardEntry";

export default {
  tool: "change_bgm",
  icon: Music,
  headline: (input) => (isObject(input) && typeof input.track === "number" ? `Play track ${input.track}` : undefined),
  handler: changeBgm({ play: playTrack }),
} satisfies CardEntry;

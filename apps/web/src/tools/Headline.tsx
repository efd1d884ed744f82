import { Untrusted } from "../text/Untrusted";
import type { HeadlinePiece } from "./headline";

/** A headline whose values stand out from the tool's own words. The spaces at their edges are not worth a mark. */
export function Headline({ pieces }: { pieces: readonly HeadlinePiece[] }) {
  return (
    <span className="headline">
      {pieces.map(({ text, isValue }, at) =>
        isValue ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a headline do not move
          <strong key={at}>
            <Untrusted text={text} />
          </strong>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a headline do not move
          <Untrusted key={at} text={text} reading={text === text.trim() ? "data" : "prose"} />
        ),
      )}
    </span>
  );
}

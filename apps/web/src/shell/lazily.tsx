import { type ComponentType, useEffect } from "react";
import { useStore } from "../store";
import { PartTroubleNote } from "./PartTroubleNote";
import type { Part } from "./part";

/** A component of a part. Until the part is loaded, `Meanwhile` is in its place, and what went wrong if anything did. */
export function lazily<MODULE, PROPS extends object>(
  part: Part<MODULE>,
  pick: (module: MODULE) => ComponentType<PROPS>,
  Meanwhile: ComponentType<PROPS> = Loading,
  Failed: ComponentType<PROPS> = () => <PartTroubleNote part={part} />,
): ComponentType<PROPS> {
  return function Lazily(props: PROPS) {
    const { module, trouble } = useStore(part);
    useEffect(() => void part.load(), []);
    if (module !== undefined) {
      const Loaded = pick(module);
      return <Loaded {...props} />;
    }
    return trouble === undefined ? <Meanwhile {...props} /> : <Failed {...props} />;
  };
}

/** Unseen unless it takes long. */
function Loading() {
  return (
    <p className="part-loading" role="status">
      Loading…
    </p>
  );
}

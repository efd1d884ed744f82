import { type ComponentType, type ReactNode, useEffect, useState } from "react";

/*
 * Parts of the console that the first page does not need are loaded when they are first shown. A part that was loaded
 * stays, and is shown at once.
 */

/** A part that could not be loaded. */
export class PartError extends Error {
  constructor(cause: unknown) {
    super(
      "This part of the console could not be loaded: the server did not respond, or has been updated meanwhile. Reloading the page helps against both.",
      { cause },
    );
  }
}

export interface Part<PROPS> {
  /** The component, if it is loaded. */
  read: () => ComponentType<PROPS> | undefined;
  /** Loads it. What failed is tried again by the next call. */
  load: () => Promise<ComponentType<PROPS>>;
}

export function partOf<PROPS>(fetch: () => Promise<ComponentType<PROPS>>): Part<PROPS> {
  let loaded: ComponentType<PROPS> | undefined;
  const load = async () => {
    loaded ??= await fetch().catch((cause: unknown) => {
      throw new PartError(cause);
    });
    return loaded;
  };
  return { read: () => loaded, load };
}

/** The component of a part once it is wanted and loaded. Throws what went wrong, for the boundary around it. */
export function usePart<PROPS>(part: Part<PROPS>, isWanted = true): ComponentType<PROPS> | undefined {
  const [, setIsLoaded] = useState(false);
  const [error, setError] = useState<unknown>();
  const loaded = part.read();
  useEffect(() => {
    if (!isWanted || loaded !== undefined) return;
    let isGone = false;
    part.load().then(
      () => !isGone && setIsLoaded(true),
      (reason: unknown) => !isGone && setError(reason),
    );
    return () => {
      isGone = true;
    };
  }, [part, isWanted, loaded]);
  if (error !== undefined) throw error;
  return isWanted ? loaded : undefined;
}

/** A component that is loaded when it is first shown, with something in its place until then. */
export function lazily<PROPS extends object>(
  fetch: () => Promise<ComponentType<PROPS>>,
  placeholder: ReactNode = null,
): ComponentType<PROPS> {
  const part = partOf(fetch);
  return function Lazily(props: PROPS) {
    const Loaded = usePart(part);
    return Loaded === undefined ? placeholder : <Loaded {...props} />;
  };
}

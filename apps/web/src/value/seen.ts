import { type RefObject, useEffect } from "react";
import { topLayerStore, useLayer } from "../shell/layer";
import { createStore, useStore } from "../store";

type Seen = ReadonlyMap<string, ReadonlySet<number>>;

/** Which lines of which value have been in view, in any card. */
const seenStore = createStore<Seen>(new Map());

/** More values than can wait at the same time. */
const REMEMBERED = 500;
const NOTHING: ReadonlySet<number> = new Set();

export function useSeen(id: string): ReadonlySet<number> {
  return useStore(seenStore).get(id) ?? NOTHING;
}

interface Options {
  /** The id of the value. */
  id: string;
  /** Contains elements with `data-line`. */
  container: RefObject<HTMLElement | null>;
  /** How many of them are rendered. */
  rendered: number;
}

/** Remembers the lines that were in view: at least half of each, inside the viewport, and not covered by a dialog. */
export function useWatchLines({ id, container, rendered }: Options): void {
  const layer = useLayer();

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again when more lines are rendered
  useEffect(() => {
    if (container.current === null) return;
    const inView = new Set<number>();
    const remember = () => {
      if (topLayerStore.read() === layer) addSeen(id, inView);
    };
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const line = Number((target as HTMLElement).dataset.line);
          if (isIntersecting) inView.add(line);
          else inView.delete(line);
        }
        remember();
      },
      { threshold: 0.5 },
    );
    for (const element of container.current.querySelectorAll("[data-line]")) observer.observe(element);
    const unfollow = topLayerStore.subscribe(remember);
    return () => {
      unfollow();
      observer.disconnect();
    };
  }, [id, container, rendered, layer]);
}

function addSeen(id: string, lines: ReadonlySet<number>): void {
  const seen = seenStore.read().get(id) ?? NOTHING;
  if ([...lines].every((line) => seen.has(line))) return;
  seenStore.write((all) => {
    const entries = [...all].filter(([other]) => other !== id).slice(-REMEMBERED);
    return new Map([...entries, [id, new Set([...seen, ...lines])]]);
  });
}

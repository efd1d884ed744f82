import { createStore, type Store } from "../store";

/*
 * The first page loads what it shows. The other parts of the console are loaded when nothing else is to be done, so that
 * an outage or an update of the server later does not matter, and at the latest when they are shown.
 */

/** Why a part could not be loaded. */
export type PartTrouble =
  /** The server does not respond. */
  | "unreachable"
  /** The server responds, but not with this part: it has been updated, or the browser keeps the failure. */
  | "outdated";

export interface PartState<MODULE> {
  /** What is loaded stays. */
  module: MODULE | undefined;
  /** What happened to the last attempt of somebody who wants to see the part. */
  trouble: PartTrouble | undefined;
  isLoading: boolean;
}

/** A part of the console that is loaded on its own. */
export interface Part<MODULE> extends Pick<Store<PartState<MODULE>>, "read" | "subscribe"> {
  /** Loads it, because it is shown. Says whether it is there; a failure is in the state. */
  load: () => Promise<boolean>;
  /** Loads it, before anybody wants to see it. A failure means nothing yet. */
  preload: () => Promise<void>;
}

export function partOf<MODULE>(fetchModule: () => Promise<MODULE>, isServerThere = answers): Part<MODULE> {
  const store = createStore<PartState<MODULE>>({ module: undefined, trouble: undefined, isLoading: false });
  let fetching: Promise<void> | undefined;
  const fetchOnce = () => {
    fetching ??= fetchModule()
      .then((module) => store.write({ module, trouble: undefined, isLoading: false }))
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };
  /** What is wrong, if anything: it may have been a moment only. */
  const attempt = async (): Promise<PartTrouble | undefined> => {
    try {
      await fetchOnce();
    } catch {
      if (!(await isServerThere())) return "unreachable";
      return fetchOnce().then(
        () => undefined,
        () => "outdated",
      );
    }
  };
  let loading: Promise<boolean> | undefined;
  const load = () => {
    if (store.read().module !== undefined) return Promise.resolve(true);
    store.write((state) => ({ ...state, isLoading: true }));
    loading ??= attempt().then((trouble) => {
      loading = undefined;
      if (trouble !== undefined) store.write((state) => ({ ...state, trouble, isLoading: false }));
      return trouble === undefined;
    });
    return loading;
  };
  const preload = async () => {
    if (store.read().module === undefined) await fetchOnce().catch(() => {});
  };
  return { read: store.read, subscribe: store.subscribe, load, preload };
}

const ANSWERS_WITHIN_MS = 5_000;

async function answers(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
    return (await fetch(location.pathname, { method: "HEAD", cache: "no-store", signal })).ok;
  } catch {
    return false;
  }
}

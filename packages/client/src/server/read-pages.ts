import { jsonOf, type Server } from "./server.js";

/** More pages than any list has. The limit keeps an endless list from being read forever. */
export const MAX_PAGES = 1_000;

/** One page of a list. */
export type ListPage<T> = {
  /** They may be fewer than asked for, even none, although there is another page. */
  entries: T[];
  /** The path of the next page; `undefined` for the last one. */
  next: string | undefined;
};

/** Reads one page. `read` gets its entries from the response. Default: a JSON array. */
export async function readPage<T>(
  server: Server,
  path: string,
  signal?: AbortSignal,
  read: (response: Response) => Promise<T[]> = jsonOf<T[]>,
): Promise<ListPage<T>> {
  const response = await server.request(path, { signal });
  const entries = await read(response);
  return { entries, next: nextOf(response.headers.get("link"), path) };
}

/** Reads a whole list, page by page. */
export async function readPages<T>(server: Server, path: string, signal?: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  let next: string | undefined = path;
  for (let page = 0; next !== undefined && page < MAX_PAGES; page++) {
    const read: ListPage<T> = await readPage<T>(server, next, signal);
    all.push(...read.entries);
    next = read.next;
  }
  return all;
}

/** The next page by the `link` header. Only its query counts: a proxy may know the server by another address. */
function nextOf(link: string | null, path: string): string | undefined {
  const target = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? "")?.[1];
  const query = target?.split("?", 2)[1];
  return query === undefined ? undefined : `${path.split("?", 1)[0]}?${query}`;
}

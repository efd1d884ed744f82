import { jsonOf, type Server } from "./server.js";

/** More pages than any list has. The limit keeps an endless list from being read forever. */
const MAX_PAGES = 1_000;

/** Reads a whole list, page by page: a full page links to the next one in its `link` header. */
export async function readPages<T>(server: Server, path: string, signal?: AbortSignal): Promise<T[]> {
  const entries: T[] = [];
  let next: string | undefined = path;
  for (let page = 0; next !== undefined && page < MAX_PAGES; page++) {
    const response: Response = await server.request(next, { signal });
    entries.push(...(await jsonOf<T[]>(response)));
    next = nextOf(response.headers.get("link"), path);
  }
  return entries;
}

/** The query of the next page. The rest of the URL is ignored: a proxy may know the server by another address. */
function nextOf(link: string | null, path: string): string | undefined {
  const target = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? "")?.[1];
  const query = target?.split("?", 2)[1];
  return query === undefined ? undefined : `${path}?${query}`;
}

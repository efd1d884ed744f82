/** What an address says to a plain request; `undefined` where the browser did not let it be asked. */
export type Probe = { isReachable: true | undefined } | { isReachable: false; reason: string };

/**
 * Asks an address for anything at all. A frame fires `load` for a refused page, an unreachable one and an error alike, and its
 * content is another origin's: a request is the only way to know that nobody is there. Its status can be read only where the
 * address is the console's own; that a site refuses to be framed can't be read at all.
 */
export async function probe(url: string, timeoutMs: number): Promise<Probe> {
  if (!(await mayAsk(url))) return { isReachable: undefined };
  try {
    const response = await fetch(url, {
      // Without cookies and with nothing read from it: it only has to answer.
      mode: "no-cors",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(timeoutMs),
    });
    void response.body?.cancel();
    if (response.type === "basic" && !response.ok) {
      return { isReachable: false, reason: `The address answered with status ${response.status}.` };
    }
    return { isReachable: true };
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") {
      return { isReachable: false, reason: "The address did not answer in time." };
    }
    return { isReachable: false, reason: "The address can't be reached from this browser, or refuses other sites." };
  }
}

let connectSources: Promise<string | undefined> | undefined;

/** Whether the console's own policy lets it ask other addresses: what it forbids is not tried. */
async function mayAsk(url: string): Promise<boolean> {
  const { origin, protocol } = new URL(url);
  if (origin === location.origin) return true;
  connectSources ??= readPolicy();
  const sources = await connectSources;
  return sources === undefined || sources.split(/\s+/).some((source) => source === protocol || source === "*");
}

/** The `connect-src` of the page, or what stands in for it; `undefined` where there is none. */
async function readPolicy(): Promise<string | undefined> {
  try {
    const page = await fetch(location.pathname, { method: "HEAD" });
    const policy = page.headers.get("content-security-policy");
    const directives = new Map(
      policy?.split(";").map((directive) => {
        const [name = "", ...sources] = directive.trim().split(/\s+/);
        return [name, sources.join(" ")];
      }),
    );
    return directives.get("connect-src") ?? directives.get("default-src");
  } catch {
    return "";
  }
}

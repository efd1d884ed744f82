import { type NextRequest, NextResponse } from "next/server";
import { agent } from "@/lib/agent";

/** The browser talks to this app only. These are the paths that it may use on the Holdpoint server. */
export const config = { matcher: "/api/chat/:path*" };

/**
 * Sends a request on to the Holdpoint server, with the key. Rewrites of next.config.ts cannot add a header, and their
 * address is fixed when the app is built.
 *
 * The `origin` header goes along: the Holdpoint server refuses pages that its setting `origins` does not name.
 */
export function proxy(request: NextRequest): NextResponse {
  const { baseUrl, apiKey } = agent();
  const { pathname, search } = request.nextUrl;
  const headers = new Headers(request.headers);
  headers.set("authorization", `Bearer ${apiKey}`);
  headers.delete("cookie"); // this app's cookies are not for other servers
  return NextResponse.rewrite(new URL(pathname + search, baseUrl), { request: { headers } });
}

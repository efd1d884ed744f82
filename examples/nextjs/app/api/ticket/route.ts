import { agent } from "@/lib/agent";

/**
 * A ticket for one WebSocket. A browser cannot send a key with a WebSocket, and must not have it: it connects to the
 * Holdpoint server with a ticket, which is valid once and for a minute.
 */
export async function POST(): Promise<Response> {
  const { baseUrl, apiKey } = agent();
  try {
    return await fetch(new URL("/api/ticket", baseUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}` },
      cache: "no-store",
    });
  } catch {
    return Response.json({ title: "The Holdpoint server does not answer." }, { status: 502 });
  }
}

import "server-only";

/**
 * The Holdpoint server and the key for it. The key stays on this app's server: `server-only` fails the build of a
 * browser component that imports this file.
 *
 * Every visitor has the same key here, so all of them are one user. An app with a login returns the key of the user
 * who is signed in, and refuses everybody else.
 */
export function agent(): { baseUrl: string; apiKey: string } {
  const { AGENT_URL: baseUrl, AGENT_KEY: apiKey } = process.env;
  if (!baseUrl) throw new Error("AGENT_URL is not set. It is the address of the Holdpoint server.");
  if (!apiKey) throw new Error("AGENT_KEY is not set. It is a key from the Holdpoint server's settings.");
  return { baseUrl, apiKey };
}

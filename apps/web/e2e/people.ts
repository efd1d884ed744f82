import { createHash } from "node:crypto";
import type { BrowserContext, Page } from "@playwright/test";
import { scratchFile } from "./scratch";

/** The people of a test, each with a key. Bob and Carol decide for the group `finance`. */
export const PEOPLE = {
  ann: { key: "key-of-ann-0123456789", more: "" },
  bob: { key: "key-of-bob-0123456789", more: 'roles = ["user", "approver"]\ngroups = ["finance"]' },
  carol: { key: "key-of-carol-0123456789", more: 'roles = ["user", "approver"]\ngroups = ["finance"]' },
} as const;

export type Person = keyof typeof PEOPLE;

/** Arguments for a server that knows these people, with more settings. */
export function withPeople(toml = ""): string[] {
  const keys = Object.entries(PEOPLE).map(([subject, { key, more }]) => {
    const digest = createHash("sha256").update(key).digest("hex");
    return `[[auth.keys]]\nkey_sha256 = "${digest}"\nsubject = "${subject}"\n${more}\n`;
  });
  return ["--config", scratchFile("people.toml", `${keys.join("\n")}\n${toml}`)];
}

/** Every page of this browser is signed in from its first request on. */
export async function signIn(context: BrowserContext | Page, person: Person): Promise<void> {
  await context.addInitScript((key) => sessionStorage.setItem("holdpoint-key", key), PEOPLE[person].key);
}

/** What a person does without a browser. */
export function api(url: string, person?: Person) {
  const headers = {
    "content-type": "application/json",
    ...(person && { authorization: `Bearer ${PEOPLE[person].key}` }),
  };
  return {
    /** Sends a message in a chat, a new one unless it has a higher number, and reads the response to its end: the call waits, or has run. */
    say: async (chatId: string, text: string, number = 1) => {
      const message = { id: `${chatId}-${number}`, role: "user", parts: [{ type: "text", text }] };
      const body = JSON.stringify({ id: chatId, messages: [message] });
      const response = await fetch(`${url}/stream`, { method: "POST", headers, body });
      if (!response.ok) throw new Error(await response.text());
      await response.text();
    },
    stop: async (chatId: string) => {
      const response = await fetch(`${url}/api/chat/${chatId}/stop`, { method: "POST", headers, body: "{}" });
      if (!response.ok) throw new Error(await response.text());
    },
    deleteChat: async (chatId: string) => {
      const response = await fetch(`${url}/api/chat/${chatId}`, { method: "DELETE", headers });
      if (!response.ok) throw new Error(await response.text());
    },
    approvals: async (): Promise<{ approvalId: string; chatId: string }[]> =>
      (await fetch(`${url}/api/approvals`, { headers })).json(),
    decide: async (approvalId: string, decision: object): Promise<number> => {
      const body = JSON.stringify(decision);
      return (await fetch(`${url}/api/approvals/${approvalId}`, { method: "POST", headers, body })).status;
    },
  };
}

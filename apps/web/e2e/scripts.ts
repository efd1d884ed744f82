import { scratchFile } from "./scratch";

/** One action of a scripted model. */
export type Action =
  | { text: string[] }
  | { reasoning: string[] }
  | { waitMs: number }
  | { error: string }
  | { toolCall: { name: string; input: unknown; id?: string } };

/** Arguments for a server whose model plays these steps, whatever the message. */
export function scripted(...steps: Action[][]): string[] {
  const script = { modelVersion: "scripted", turns: [{ when: ".*", steps }] };
  return ["--model", `script:${scratchFile("script.json", JSON.stringify(script))}`];
}

/** Arguments for a server with additional tools. */
export function configured(toml: string): string[] {
  return ["--config", scratchFile("tools.toml", toml)];
}

/** A tool that accepts any input and always needs an approval. Its endpoint is on this machine. */
export function gatedTool(name: string, url = "http://127.0.0.1:9/", about: Record<string, string> = {}): string {
  const { title = "Deploy a release", description = "Puts a release into production" } = about;
  return `[tools.${name}]
execution = "server"
title = ${JSON.stringify(title)}
description = ${JSON.stringify(description)}
url = "${url}"
allow_private = true
approval = "always"
input_schema = { type = "object" }
`;
}

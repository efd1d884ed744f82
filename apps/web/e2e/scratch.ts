import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Writes a file for a test's server, and returns its path. */
export function scratchFile(name: string, content: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "holdpoint-e2e-")), name);
  writeFileSync(path, content);
  return path;
}

/** A model that pauses in the middle of its answer, long enough for a test to act. */
export function slowModel(waitMs: number): string {
  const step = [{ text: ["The first half, "] }, { waitMs }, { text: ["and the second half."] }];
  const script = { modelVersion: "slow", turns: [{ when: ".*", steps: [step] }] };
  return `script:${scratchFile("slow.json", JSON.stringify(script))}`;
}

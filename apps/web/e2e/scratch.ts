import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Writes a file that a test's server reads, and returns where it is. */
export function scratchFile(name: string, content: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "holdpoint-e2e-")), name);
  writeFileSync(path, content);
  return path;
}

/** A model that stops in the middle of its answer for long enough to do something. */
export function slowModel(waitMs: number): string {
  const step = [{ text: ["The first half, "] }, { waitMs }, { text: ["and the second half."] }];
  const script = { modelVersion: "slow", turns: [{ when: ".*", steps: [step] }] };
  return `script:${scratchFile("slow.json", JSON.stringify(script))}`;
}

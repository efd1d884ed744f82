// The console travels inside the binary: fails when the built app is heavier than it may be.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT = 400 * 1024;
const dist = fileURLToPath(new URL("../dist", import.meta.url));

let total = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = join(entry.parentPath, entry.name);
  const size = gzipSync(readFileSync(file), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(8)} KB  ${file.slice(dist.length + 1)}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(8)} KB  gzipped in all, of ${LIMIT / 1024} KB`);
if (total > LIMIT) {
  console.error("The built console is over its limit.");
  process.exit(1);
}

// The console travels inside the binary, and its first page over slow networks: fails when either is heavier than it may be.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** All files. */
const TOTAL = 340 * 1024;
/** What the page names itself; the other parts are loaded later. Fonts would be apart. */
const FIRST_PAGE = 150 * 1024;

const dist = fileURLToPath(new URL("../dist", import.meta.url));
const named = [...readFileSync(join(dist, "index.html"), "utf8").matchAll(/ (?:src|href)="\/([^"]+)"/g)].map(
  ([, name]) => name,
);
const first = new Set(["index.html", ...named]);
const kb = (size) => `${(size / 1024).toFixed(1).padStart(8)} KB`;

const sums = { total: 0, first: 0 };
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = join(entry.parentPath, entry.name);
  const name = file.slice(dist.length + 1);
  const size = gzipSync(readFileSync(file), { level: 9 }).length;
  const isFirst = first.delete(name);
  sums.total += size;
  if (isFirst) sums.first += size;
  console.log(`${kb(size)}  ${name}${isFirst ? " (first page)" : ""}`);
}
console.log(`${kb(sums.first)}  gzipped for the first page, of ${FIRST_PAGE / 1024} KB`);
console.log(`${kb(sums.total)}  gzipped in all, of ${TOTAL / 1024} KB`);
const problems = [
  ...[...first].map((name) => `The page names ${name}, which is not there.`),
  ...(sums.first > FIRST_PAGE
    ? ["The first page is over its limit: make a part of what it does not show (src/shell/parts.ts)."]
    : []),
  ...(sums.total > TOTAL ? ["The built console is over its limit."] : []),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);

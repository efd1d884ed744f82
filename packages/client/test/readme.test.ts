import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The code blocks of a page, as files that are not on the disk. */
function blocks(page: string): [string, string][] {
  const text = readFileSync(here(page), "utf8");
  return [...text.matchAll(/```(tsx?)\n(.*?)```/gs)].map(([, kind, code], i) => [
    here(`./block-${i}.${kind}`),
    code ?? "",
  ]);
}

/** What the compiler has to say about them, with the package's own settings. */
function problems(files: Map<string, string>): string[] {
  const { config } = ts.readConfigFile(here("../tsconfig.json"), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, here(".."));
  // The examples import the package by its name: that is what is written here, built or not.
  const paths = {
    holdpoint: [here("../src/index.ts")],
    "holdpoint/demo": [here("../src/demo.ts")],
    "holdpoint/protocol": [here("../src/protocol.ts")],
    "holdpoint/react": [here("../src/react/index.ts")],
  };
  const options = { ...parsed.options, paths };
  const host = ts.createCompilerHost({ ...options, noUnusedLocals: false });
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, ...rest) => {
    const code = files.get(name);
    return code === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, code, ts.ScriptTarget.ES2022, true);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
    return `${file?.fileName.split("/").at(-1)}:${line} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}

it("the examples are right for the compiler, and it would say if they were not", () => {
  const pages = [
    "../README.md",
    "../../../docs/client.md",
    "../../../README.md",
    "../../../docs/ai-sdk.md",
    "../../../docs/getting-started.md",
  ].map(blocks);
  for (const page of pages) expect(page.length).toBeGreaterThan(0);
  const wrong = here("./wrong.ts");
  const files = new Map(pages.flat().map(([name, code], i) => [name.replace("block", `block-${i}`), code]));
  files.set(
    wrong,
    'import { useHoldpoint } from "holdpoint/react";\nexport const chat = useHoldpoint({ mode: "telegraph", id: "c" });',
  );
  const found = problems(files);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/^wrong\.ts:2 .*"telegraph"/);
}, 120_000);

it("the page lists every state and every outcome of a call", () => {
  const page = readFileSync(here("../../../docs/client.md"), "utf8");
  const code = readFileSync(here("../src/calls/call-status.ts"), "utf8");
  const listed = (column: string) => {
    const rows = page.split(`| \`${column}\` | meaning | label |\n`)[1]?.split("\n\n")[0]?.split("\n").slice(1) ?? [];
    return rows
      .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z-]+)`/g)].map(([, name]) => name))
      .sort();
  };
  const between = (from: string, to: string) => code.split(from)[1]?.split(to)[0] ?? "";
  const states = between("export type CallState =", "\ntype Settled");
  const kinds = [...states.matchAll(/\bkind: ("[a-z-]+"(?: \| "[a-z-]+")*)/g)].flatMap(([, names = ""]) =>
    [...names.matchAll(/"([a-z-]+)"/g)].map(([, name]) => name),
  );
  const outcomes = [...between("export type CallOutcome =", ";").matchAll(/"([a-z-]+)"/g)].map(([, name]) => name);
  expect(kinds.length).toBeGreaterThan(5);
  expect(listed("kind")).toEqual(kinds.sort());
  expect(listed("outcome")).toEqual(outcomes.sort());
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import ts from "typescript";
import { repository } from "./support/process";

const guide = readFileSync(join(repository, "docs/guides/nextjs.md"), "utf8");
const blocks = [...guide.matchAll(/```tsx?\n(.*?)```/gs)].map(([, code]) => code ?? "");
const [whole, pieces] = [
  blocks.filter((code) => code.startsWith("import ")),
  blocks.filter((code) => !code.startsWith("import ")),
];

/** The sources of the app. */
function sources(): string[] {
  const folder = join(repository, "examples/nextjs");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const isSource = (file: string) => /\.tsx?$/.test(file) && !/^(node_modules|\.next)\b/.test(file);
  return files.filter(isSource).map((file) => readFileSync(join(folder, file), "utf8"));
}

/** What the compiler says about a file that is not on the disk. */
function problems(code: string): string[] {
  const name = join(repository, "tests/apps/block.ts");
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === name || fileExists(file);
  host.getSourceFile = (file, ...rest) =>
    file === name ? ts.createSourceFile(file, code, ts.ScriptTarget.ES2022, true) : getSourceFile(file, ...rest);
  const found = ts.getPreEmitDiagnostics(ts.createProgram([name], options, host));
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

test("the pieces of code in the guide are in the app", () => {
  const texts = sources();
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces)
    expect(
      texts.filter((text) => text.includes(piece)),
      piece,
    ).not.toEqual([]);
});

test("the whole files in the guide are right for the compiler, and it would say if they were not", () => {
  expect(whole).toHaveLength(1);
  for (const code of whole) {
    expect(problems(code)).toEqual([]);
    expect(problems(code.replace("params:", "parameters:"))).toHaveLength(1);
  }
});

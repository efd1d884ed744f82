import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The names that a file exports, types included: those of types are marked. */
function exportsOf(paths: string[]): string[][] {
  const { config } = ts.readConfigFile(here("../tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, here(".."));
  const program = ts.createProgram(paths, options);
  const checker = program.getTypeChecker();
  return paths.map((path) => {
    const file = program.getSourceFile(path);
    const module = file && checker.getSymbolAtLocation(file);
    return checker
      .getExportsOfModule(module as ts.Symbol)
      .map((symbol) => {
        const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
        const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
        const isTypeOnly = symbol.declarations?.some((each) => ts.isTypeOnlyExportDeclaration(each)) ?? false;
        const isValue = !isTypeOnly && (target.flags & ts.SymbolFlags.Value) !== 0;
        return isValue ? symbol.name : `type ${symbol.name}`;
      })
      .sort();
  });
}

// Whatever is exported is promised. A name is added here on purpose, or not at all.
it("exports these names, and no others", () => {
  const [root, demo] = exportsOf([here("../src/index.ts"), here("../src/demo.ts")]);
  expect(root).toEqual([
    "FrontendToolExecutor",
    "HoldpointError",
    "LiveChatTransport",
    "askUser",
    "callOfFile",
    "callStatus",
    "createHoldpoint",
    "earlierAttempts",
    "sendAutomaticallyWhen",
    "shouldAutoSend",
    "type ApprovalDecision",
    "type ApprovalsFilter",
    "type AuditFilter",
    "type AutoSend",
    "type CallContext",
    "type CallStatus",
    "type CheckProfile",
    "type ClientOrOptions",
    "type DecisionProgress",
    "type EventsListener",
    "type EventsSource",
    "type FrontendCall",
    "type FrontendToolExecutorOptions",
    "type HandledCall",
    "type Holdpoint",
    "type HoldpointErrorCode",
    "type HoldpointOptions",
    "type LiveChatTransportOptions",
    "type LiveConnection",
    "type ServerStatus",
    "type SettledDecision",
    "type ToolHandler",
    "type ToolHandlers",
    "type ToolHandlersOf",
    "type ToolProgress",
    "type UserAnswer",
    "type UserPrompt",
  ]);
  expect(demo).toEqual([
    "changeBgm",
    "getLocation",
    "openUrl",
    "type FoundLocation",
    "type OpenUrlRequest",
    "type OpenedUrl",
  ]);
}, 120_000);

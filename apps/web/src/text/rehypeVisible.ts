import { runsOf, visible } from "./runs";

/** The subset of a HAST node used here. */
interface Node {
  type: string;
  value?: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
}

/** `Untrusted` for Markdown. Runs after parsing, because entities can encode a character too. */
export function rehypeVisible() {
  return (tree: Node): void => visit(tree);
}

function visit(node: Node): void {
  for (const name of ["title", "alt"]) {
    const value = node.properties?.[name];
    if (node.properties && typeof value === "string") node.properties[name] = visible(value);
  }
  node.children = node.children?.flatMap((child) => {
    if (child.type === "text" && child.value !== undefined) return piecesOf(child.value);
    visit(child);
    return [child];
  });
}

function piecesOf(text: string): Node[] {
  return runsOf(text, "prose").map((run) =>
    run.kind === "hidden"
      ? {
          type: "element",
          tagName: "span",
          properties: { className: ["untrusted__hidden"], title: run.name },
          children: [{ type: "text", value: run.code }],
        }
      : { type: "text", value: run.kind === "text" ? run.text : "" },
  );
}

/**
 * Splits Markdown where a new block certainly starts, so that only the last block is parsed again while text streams
 * in. In doubt (lists, tables, indented lines) the text stays together.
 */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let fence: string | undefined;
  let isAfterBlank = false;
  for (const line of text.split("\n")) {
    const marker = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && isAfterBlank && startsBlock(line)) {
      blocks.push(block.join("\n"));
      block = [];
    }
    if (marker !== undefined) {
      if (fence === undefined) fence = marker;
      else if (marker.startsWith(fence)) fence = undefined;
    }
    block.push(line);
    isAfterBlank = line.trim() === "";
  }
  if (block.length > 0) blocks.push(block.join("\n"));
  return blocks;
}

function startsBlock(line: string): boolean {
  return /^\S/.test(line) && !/^([-*+>|]|\d+[.)]|\[)/.test(line);
}

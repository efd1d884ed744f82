import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { rehypeVisible } from "../text/rehypeVisible";
import { splitBlocks } from "./blocks";
import { CodeBlock } from "./CodeBlock";

const PLUGINS = [remarkGfm];
const AFTER = [rehypeVisible];

const COMPONENTS: Components = {
  // The page's first-level heading is the chat's title.
  h1: "h2",
  h2: "h3",
  h3: "h4",
  a: ({ children, href }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  // An image loads without a click, so a model's text could leak data through its URL. So it becomes a link.
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
      {alt || "image"}
    </a>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className="markdown__table">
      <table>{children}</table>
    </div>
  ),
};

/** Raw HTML is dropped, and only http(s) and mailto URLs become links. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown" dir="auto">
      {splitBlocks(text).map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks only ever grow at the end
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

const Block = memo(({ text }: { text: string }) => (
  <ReactMarkdown remarkPlugins={PLUGINS} rehypePlugins={AFTER} components={COMPONENTS}>
    {text}
  </ReactMarkdown>
));

import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { rehypeVisible } from "../text/rehypeVisible";
import { splitBlocks } from "./blocks";
import { CodeBlock } from "./CodeBlock";

const PLUGINS = [remarkGfm];
const AFTER = [rehypeVisible];

const COMPONENTS: Components = {
  // The page's own first heading is the chat's title.
  h1: "h2",
  h2: "h3",
  h3: "h4",
  a: ({ children, href }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  // An image is fetched without anybody clicking it: a model's text could send data out with its address. So it is a link.
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

/** Raw HTML in the text is left out, and addresses other than http(s) and mailto do not become links. */
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

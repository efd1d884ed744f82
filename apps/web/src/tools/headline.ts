import { isObject } from "../prompt/isObject";
import { visible } from "../text/runs";
import { propertiesOf, propertyOf, type Schema, titleOf } from "../value/schema";
import { cardOf } from "./registry";

/** A piece of a headline: the tool's own words, or a value of the input. */
export interface HeadlinePiece {
  text: string;
  isValue: boolean;
}

interface About {
  toolName: string;
  title: string;
  input: unknown;
  schema: Schema;
  /** The tool's template, such as `Pay {amount} {currency} to {recipient}`. */
  template: string | undefined;
}

const LONGEST = 60;
const MOST_FIELDS = 3;

/**
 * What a call is about, in one line: by the tool's template; else by its card; else its title and the first fields that
 * have titles. Values are cut, never interpreted: the whole input is shown below.
 */
export function headlineOf({ toolName, title, input, schema, template }: About): HeadlinePiece[] {
  const filled = template === undefined ? undefined : fill(template, input);
  if (filled !== undefined) return filled;
  const said = cardOf(toolName).headline?.(input);
  if (said !== undefined) return [words(said)];
  const fields = isObject(input)
    ? Object.keys(propertiesOf(schema)).flatMap((name) => {
        const label = titleOf(propertyOf(schema, name));
        const value = textOf(input, name);
        return label === undefined || value === undefined ? [] : [{ label, value }];
      })
    : [];
  const pieces = fields
    .slice(0, MOST_FIELDS)
    .flatMap(({ label, value }, at) => [words(`${at > 0 ? ", " : ": "}${label} `), { text: value, isValue: true }]);
  return [words(title), ...pieces];
}

/** The headline as one visible line, for attributes and announcements. */
export function headlineText(pieces: readonly HeadlinePiece[]): string {
  return pieces
    .map(({ text }) => {
      // `visible` trims, and the space between two pieces is theirs.
      const [before, after] = [/^ */.exec(text)?.[0] ?? "", / *$/.exec(text)?.[0] ?? ""];
      return text.trim() === "" ? before : `${before}${visible(text.trim())}${after}`;
    })
    .join("");
}

/** `{name}` is a property of the input. `undefined` if one is missing or has no short text. */
function fill(template: string, input: unknown): HeadlinePiece[] | undefined {
  const pieces: HeadlinePiece[] = [];
  let reached = 0;
  for (const { index, 0: found, 1: name = "" } of template.matchAll(/\{([^{}]+)\}/g)) {
    const value = textOf(input, name);
    if (value === undefined) return undefined;
    if (index > reached) pieces.push(words(template.slice(reached, index)));
    pieces.push({ text: value, isValue: true });
    reached = index + found.length;
  }
  if (reached < template.length) pieces.push(words(template.slice(reached)));
  return pieces.length === 0 ? undefined : pieces;
}

function words(text: string): HeadlinePiece {
  return { text, isValue: false };
}

/** A property as a short text; `undefined` if it has none. */
function textOf(input: unknown, name: string): string | undefined {
  if (!isObject(input) || !Object.hasOwn(input, name)) return undefined;
  const value = input[name];
  if (typeof value === "string" ? value.trim() === "" : !["number", "boolean"].includes(typeof value)) return undefined;
  const characters = [...String(value)];
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST).join("")}…` : String(value);
}

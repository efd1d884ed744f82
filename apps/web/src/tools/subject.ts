import { isObject } from "../prompt/isObject";
import { visible } from "../text/runs";
import { propertiesOf, propertyOf, requiredOf, type Schema, titleOf } from "../value/schema";

const MOST_FIELDS = 4;
const LONGEST = 60;

/**
 * The subject of a call, for screen readers: its title and its first short fields, required ones first. `Send a
 * payment, amount 50, recipient Hanako, currency USD`.
 */
export function subjectOf(title: string, input: unknown, schema: Schema): string {
  return [visible(title), ...summaryOf(input, schema)].join(", ");
}

/** A short summary of an input. */
export function summaryOf(input: unknown, schema: Schema): string[] {
  if (!isObject(input)) return [];
  const required = requiredOf(schema);
  const order = Object.keys(propertiesOf(schema));
  const rank = (name: string) => (required.includes(name) ? 0 : 1_000) + (order.indexOf(name) + 1 || 500);
  const fields = Object.entries(input)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .sort(([a], [b]) => rank(a) - rank(b));
  const said = fields
    .slice(0, MOST_FIELDS)
    .map(([name, value]) => `${visible(titleOf(propertyOf(schema, name)) ?? name)} ${shorten(visible(String(value)))}`);
  const more = Object.keys(input).length - said.length;
  return more > 0 ? [...said, `and ${more} more ${more === 1 ? "field" : "fields"}`] : said;
}

function shorten(text: string): string {
  const characters = [...text];
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST).join("")}…` : text;
}

import { isObject } from "../prompt/isObject";

/** A JSON Schema. Nothing in it can be relied on. */
export type Schema = unknown;

export function propertiesOf(schema: Schema): Record<string, unknown> {
  return isObject(schema) && isObject(schema.properties) ? schema.properties : {};
}

export function propertyOf(schema: Schema, name: string): Schema {
  const properties = propertiesOf(schema);
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

export function itemsOf(schema: Schema): Schema {
  return isObject(schema) ? schema.items : undefined;
}

export function titleOf(schema: Schema): string | undefined {
  return isObject(schema) && typeof schema.title === "string" ? schema.title : undefined;
}

export function descriptionOf(schema: Schema): string | undefined {
  return isObject(schema) && typeof schema.description === "string" ? schema.description : undefined;
}

export function requiredOf(schema: Schema): readonly unknown[] {
  return isObject(schema) && Array.isArray(schema.required) ? schema.required : [];
}

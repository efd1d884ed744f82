/** A JSON value: the fields of an object as rows, anything else as text. */
export function Fields({ of: value }: { of: unknown }) {
  if (value === undefined || value === null) return null;
  if (typeof value !== "object" || Array.isArray(value)) return <pre>{textOf(value)}</pre>;
  const fields = Object.entries(value);
  if (fields.length === 0) return null;
  return (
    <dl className="fields">
      {fields.map(([name, field]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{textOf(field)}</dd>
        </div>
      ))}
    </dl>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

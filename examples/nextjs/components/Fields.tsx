/** The input or the output of a call. All of it: a person decides by what is shown here. */
export function Fields({ value }: { value: unknown }) {
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <pre>{inWords(value)}</pre>;
  const fields = Object.entries(value);
  if (fields.length === 0) return null;
  return (
    <dl>
      {fields.map(([name, field]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{inWords(field)}</dd>
        </div>
      ))}
    </dl>
  );
}

function inWords(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** One value, readable: text as text, the rest as JSON. */
export function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span className="value value--none">none</span>;
  if (typeof value === "string") return <span className="value">{value}</span>;
  if (typeof value === "number" || typeof value === "boolean")
    return <span className="value value--exact">{String(value)}</span>;
  const json = JSON.stringify(value);
  if (json.length <= 60) return <code className="value">{json}</code>;
  return (
    // Long values scroll, and a keyboard has to be able to scroll them.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
    <pre className="value value--long" tabIndex={0}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}

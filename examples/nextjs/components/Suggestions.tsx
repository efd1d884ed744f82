const SUGGESTIONS = ["Send 50 dollars to Hanako", "Where am I?", "What's the weather in Tokyo?"];

/** What the demo model understands. */
export function Suggestions({ onPick }: { onPick: (text: string) => unknown }) {
  return (
    <div className="suggestions">
      <p>Try one of these:</p>
      {SUGGESTIONS.map((text) => (
        <button key={text} type="button" onClick={() => onPick(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}

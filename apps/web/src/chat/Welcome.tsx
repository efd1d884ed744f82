import { SUGGESTIONS } from "./suggestions";

interface Props {
  onChoose: (text: string) => void;
}

/** An empty chat: what this is, and something to press. */
export function Welcome({ onChoose }: Props) {
  return (
    <div className="welcome">
      <h2 className="welcome__title">Ask for something that needs a yes.</h2>
      <p className="welcome__text">
        The assistant can pay, look things up and use your browser. Where it must not go on alone, it stops and waits
        for you. This demo needs no key and no network.
      </p>
      <ul className="welcome__list" aria-label="Things to try">
        {SUGGESTIONS.map(({ text, shows, lang }) => (
          <li key={text}>
            <button type="button" className="welcome__item" onClick={() => onChoose(text)}>
              <span className="welcome__ask" lang={lang}>
                {text}
              </span>
              <span className="welcome__shows">{shows}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

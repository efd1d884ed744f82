import { useTools } from "holdpoint/react";
import { useServer } from "../api/server";
import { SUGGESTIONS } from "./suggestions";

interface Props {
  onChoose: (text: string) => void;
}

/** An empty chat: an introduction and suggestions. */
export function Welcome({ onChoose }: Props) {
  const { tools } = useTools(useServer());
  // Until the tools are known all suggestions are shown, to avoid a layout shift in the usual case.
  const suggestions = SUGGESTIONS.filter(({ tool }) => tools?.some(({ name }) => name === tool) ?? true);
  return (
    <div className="welcome">
      <h2 className="welcome__title">Ask for something that needs a yes.</h2>
      <p className="welcome__text">
        The assistant uses tools: on the server, and in your browser. Where it must not go on alone, it stops and waits
        for you.
      </p>
      {suggestions.length > 0 && (
        <ul className="welcome__list" aria-label="Things to try">
          {suggestions.map(({ text, shows, lang }) => (
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
      )}
    </div>
  );
}

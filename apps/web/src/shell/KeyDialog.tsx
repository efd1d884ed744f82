import { KeyRound } from "lucide-react";
import { Dialog } from "radix-ui";
import { useId, useState } from "react";
import { keyStore, setKey } from "../api/key";
import { useStore } from "../store";
import { Layer } from "./layer";

/** Opens when the server responds with 401. */
export function KeyDialog() {
  const { isWanted, key } = useStore(keyStore);
  const [typed, setTyped] = useState("");
  const field = useId();
  return (
    <Dialog.Root open={isWanted}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog" onEscapeKeyDown={(event) => event.preventDefault()}>
          <Layer>
            <KeyRound size={22} className="dialog__icon" aria-hidden="true" />
            <Dialog.Title className="dialog__title">This server requires an API key</Dialog.Title>
            <Dialog.Description className="dialog__text">
              {key === undefined
                ? "It is kept in this tab until you close it, and sent to this server only."
                : "The key was not accepted. Please check it and try again."}
            </Dialog.Description>
            <form
              onSubmit={(event) => {
                event.preventDefault();
                if (typed.trim() !== "") setKey(typed.trim());
                setTyped("");
              }}
            >
              <label htmlFor={field} className="dialog__label">
                API key
              </label>
              <input
                id={field}
                className="field mono"
                type="password"
                autoComplete="off"
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
              />
              <button type="submit" className="button button--primary dialog__submit" disabled={typed.trim() === ""}>
                Continue
              </button>
            </form>
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

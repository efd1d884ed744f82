import { Dialog } from "radix-ui";
import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useStore } from "../store";
import { commandsStore, matching } from "./commands";
import { Layer, topLayerStore } from "./layer";

/** All commands of the page, found by typing. ⌘K or Ctrl+K opens it, unless a dialog is open. */
export function Palette() {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isWanted = event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey);
      if (!isWanted || event.altKey || event.shiftKey || event.isComposing || topLayerStore.read() > 0) return;
      event.preventDefault();
      setIsOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setIsOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog palette" aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">Commands</Dialog.Title>
          <Layer>
            <Commands onClose={() => setIsOpen(false)} />
          </Layer>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Commands({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const groups = matching(useStore(commandsStore), typed);
  const all = groups.flatMap(({ commands }) => commands);
  const active = Math.min(at, all.length - 1);

  useEffect(() => {
    list.current?.querySelector(`#${CSS.escape(`${id}-${active}`)}`)?.scrollIntoView({ block: "nearest" });
  }, [active, id]);

  const run = (number: number) => {
    const command = all[number];
    if (command === undefined) return;
    onClose();
    // Once the dialog is gone: it takes the focus back to where it was, and a command may move it.
    setTimeout(() => command.run());
  };
  const onKeyDown = (event: ReactKeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const steps: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: all.length - 1 };
    const next = steps[event.key];
    if (event.key === "Enter") run(active);
    else if (next !== undefined && all.length > 0) setAt((next + all.length) % all.length);
    else return;
    event.preventDefault();
  };
  let number = -1;
  return (
    <>
      <input
        className="palette__field"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        placeholder="What do you want to do?"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette__list" role="listbox" id={`${id}-list`} aria-label="Commands" ref={list}>
        {groups.map(({ title, commands }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options is not a fieldset
          <div key={title} role="group" aria-label={title}>
            <p className="menu__label" aria-hidden="true">
              {title}
            </p>
            {commands.map(({ name, hint }) => {
              number += 1;
              const own = number;
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and takes the keys
                <div
                  key={name}
                  id={`${id}-${own}`}
                  className="palette__item"
                  role="option"
                  tabIndex={-1}
                  aria-selected={own === active}
                  onPointerMove={() => setAt(own)}
                  onClick={() => run(own)}
                >
                  {name}
                  {hint && <kbd>{hint}</kbd>}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      {all.length === 0 && (
        <p className="palette__none" role="status">
          No command is called that.
        </p>
      )}
    </>
  );
}

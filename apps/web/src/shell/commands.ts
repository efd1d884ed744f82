import { useEffect, useRef } from "react";
import { createStore } from "../store";

/** Something that the palette can do. */
export interface Command {
  name: string;
  /** Its key, where it has one. */
  hint?: string;
  run: () => void;
}

export interface CommandGroup {
  title: string;
  commands: readonly Command[];
}

/** The commands of everything on the page, in the order in which it was mounted. */
export const commandsStore = createStore<readonly CommandGroup[]>([]);

/** Adds commands to the palette for as long as the component is mounted. The latest functions are called. */
export function useCommands(title: string, commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const names = commands.map(({ name, hint }) => `${name}\n${hint ?? ""}`).join("\n\n");
  useEffect(() => {
    if (names === "") return;
    const listed = latest.current.map(({ name, hint }, at) => ({
      name,
      ...(hint !== undefined && { hint }),
      run: () => latest.current[at]?.run(),
    }));
    const group: CommandGroup = { title, commands: listed };
    commandsStore.write((groups) => [...groups, group]);
    return () => commandsStore.write((groups) => groups.filter((other) => other !== group));
  }, [title, names]);
}

/** The commands whose names contain every word that was typed. */
export function matching(groups: readonly CommandGroup[], typed: string): CommandGroup[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return groups
    .map(({ title, commands }) => ({
      title,
      commands: commands.filter(({ name }) => {
        const text = `${title} ${name}`.toLowerCase();
        return words.every((word) => text.includes(word));
      }),
    }))
    .filter(({ commands }) => commands.length > 0);
}

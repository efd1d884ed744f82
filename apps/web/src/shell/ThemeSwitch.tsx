import { Monitor, Moon, Sun } from "lucide-react";
import { ToggleGroup } from "radix-ui";
import { useStore } from "../store";
import { setTheme, THEMES, type Theme, themeStore } from "./theme";

const LOOK: Record<Theme, { label: string; Icon: typeof Sun }> = {
  system: { label: "System theme", Icon: Monitor },
  light: { label: "Light", Icon: Sun },
  dark: { label: "Dark", Icon: Moon },
};

export function ThemeSwitch() {
  const theme = useStore(themeStore);
  return (
    <ToggleGroup.Root
      type="single"
      className="theme-switch"
      aria-label="Colour theme"
      value={theme}
      onValueChange={(value) => {
        const chosen = THEMES.find((name) => name === value);
        if (chosen) setTheme(chosen);
      }}
    >
      {THEMES.map((name) => {
        const { label, Icon } = LOOK[name];
        return (
          <ToggleGroup.Item key={name} value={name} className="theme-switch__item" aria-label={label} title={label}>
            <Icon size={15} aria-hidden="true" />
          </ToggleGroup.Item>
        );
      })}
    </ToggleGroup.Root>
  );
}

import { createStore } from "../store";

const STORAGE = "holdpoint-theme";

export const THEMES = ["system", "light", "dark"] as const;

export type Theme = (typeof THEMES)[number];

export const themeStore = createStore<Theme>(stored());

function stored(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(STORAGE)) ?? "system";
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(STORAGE, theme);
  themeStore.write(theme);
  applyTheme();
}

/** The colours themselves follow `color-scheme` in the style sheet. */
export function applyTheme(): void {
  const theme = themeStore.read();
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = theme;
}

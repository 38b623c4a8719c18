export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = "theme";

class ThemeChoice {
  current = $state<Theme>(THEMES.find((each) => each === localStorage.getItem(KEPT)) ?? "auto");

  choose(theme: Theme): void {
    this.current = theme;
    localStorage.setItem(KEPT, theme);
    this.apply();
  }

  /** Shows the chosen one. */
  apply(): void {
    const root = document.documentElement;
    if (this.current === "auto") delete root.dataset.theme;
    else root.dataset.theme = this.current;
  }
}

/** Dark or light; `auto` follows the system. */
export const theme = new ThemeChoice();

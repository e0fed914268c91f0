/** Light or dark: as the system says, until the reader chooses. */
import { effect, signal, type ReadonlySignal } from "@preact/signals";

export type Theme = "light" | "dark";
export type ThemeChoice = Theme | "system";

const KEY = "amends.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const choice = signal<ThemeChoice>(stored());
const shown = signal<Theme>(resolve(choice.value));

export const theme: ReadonlySignal<Theme> = shown;
export const themeChoice: ReadonlySignal<ThemeChoice> = choice;

system.addEventListener("change", () => (shown.value = resolve(choice.value)));

effect(() => {
  document.documentElement.dataset["theme"] = shown.value;
});

export function cycleTheme(): void {
  const order: readonly ThemeChoice[] = ["system", "light", "dark"];
  choice.value = order[(order.indexOf(choice.value) + 1) % order.length] ?? "system";
  shown.value = resolve(choice.value);
  try {
    localStorage.setItem(KEY, choice.value);
  } catch {
    // The browser may forbid storage; the choice then lasts as long as the page.
  }
}

function resolve(wanted: ThemeChoice): Theme {
  if (wanted !== "system") return wanted;
  return system.matches ? "dark" : "light";
}

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

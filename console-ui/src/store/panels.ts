/** The panel over the page: the shortcuts, the palette or the menu of the phone. At most one is open. */
import { signal, type Signal } from "@preact/signals";

export const panel: Signal<"keys" | "palette" | "menu" | undefined> = signal(undefined);

/** What lies over the page: the list of keys, the palette, the menu of the phone. At most one of them. */
import { signal, type Signal } from "@preact/signals";

export const panel: Signal<"keys" | "palette" | "menu" | undefined> = signal(undefined);

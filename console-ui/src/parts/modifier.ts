/** The name of the key that shortcuts with Ctrl have on this machine. */
export const MODIFIER: "⌘" | "Ctrl" = /mac|iphone|ipad/iu.test(navigator.userAgent) ? "⌘" : "Ctrl";

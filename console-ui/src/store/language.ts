/**
 * A language tag that Intl accepts. Under LANG=C or POSIX (containers, remote desktops, CI) Chromium calls its language
 * `en-US@posix`, which is no BCP 47 tag: uPlot formats numbers with it while it is loaded, and throws.
 */
export function ensureLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  }
}

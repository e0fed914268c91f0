/** How long a test waits for a condition. The limit only ends a test that would wait for ever. */
export const UNTIL_MS = 20_000;

/** How often a race is run. `npm run races` runs each ten times as often as the gate does. */
const FACTOR = Number(process.env["AMENDS_ROUNDS"] ?? 1);

export function rounds(usual: number): number {
  return usual * FACTOR;
}

/** Enough time for so many, on a busy machine. */
export const RACE_MS: number = 120_000 * FACTOR;

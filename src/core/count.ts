/** A number of rows that were counted no further than a bound, so that counting never costs more than that. */
export interface Count {
  /** The number, or where counting stopped. */
  readonly value: number;
  /** False where there may be more than `value`. */
  readonly exact: boolean;
}

/** `counted` stopped at the latest at `max + 1`. */
export function countUpTo(counted: number, max: number): Count {
  return { value: Math.min(counted, max), exact: counted <= max };
}

export function sumOf(counts: readonly Count[]): Count {
  return {
    value: counts.reduce((sum, { value }) => sum + value, 0),
    exact: counts.every(({ exact }) => exact),
  };
}

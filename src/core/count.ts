/** A row count with an upper bound, which limits the cost of counting. */
export interface Count {
  /** The number of rows, or the bound at which counting stopped. */
  readonly value: number;
  /** False if there may be more than `value`. */
  readonly exact: boolean;
}

/** `counted` is at most `max + 1`. */
export function countUpTo(counted: number, max: number): Count {
  return { value: Math.min(counted, max), exact: counted <= max };
}

export function sumOf(counts: readonly Count[]): Count {
  return {
    value: counts.reduce((sum, { value }) => sum + value, 0),
    exact: counts.every(({ exact }) => exact),
  };
}

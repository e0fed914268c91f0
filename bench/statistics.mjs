/** @param {number[]} values @param {number} fraction between 0 and 1 */
export function percentile(values, fraction) {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))];
}

/** @param {number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/**
 * How far the median of these rounds may be from that of another run on the same machine, as a share of it: its standard error,
 * estimated from the distance between the quartiles, which a single disturbed round does not move.
 * @param {number[]} values
 */
export function uncertainty(values) {
  if (values.length < 3) return Number.NaN;
  const sigma = (quantile(values, 0.75) - quantile(values, 0.25)) / 1.349;
  return (1.253 * sigma) / Math.sqrt(values.length) / median(values);
}

/** @param {number[]} values @param {number} fraction */
function quantile(values, fraction) {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).toSorted();
  const place = fraction * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/** @param {number[]} values @param {number} fraction between 0 and 1 */
export function percentile(values, fraction) {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))];
}

/** @param {number[]} values */
export function median(values) {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).toSorted();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The figures beside the filters of all lists, and the first count of the badge: one answer that every page shares. */
import { useEffect } from "preact/hooks";
import type { Overview } from "../../../src/console/contract.ts";
import { recordAttention } from "./attention-count.ts";
import { useResource } from "./resource.ts";

/** Counts beside filters need not be of this second. */
const PACE_MS = 5_000;

export function useCounts(): Overview | undefined {
  const { data } = useResource<Overview>("overview?window=1h", ["overview"], PACE_MS);
  const overview = data.value;
  useEffect(() => {
    if (overview) recordAttention(overview.attention, overview.at);
  }, [overview]);
  return overview;
}

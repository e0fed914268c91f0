/** Every choice that a planner can be forced into: no claim may take more rows than its limit under any of them. */
import pg from "pg";
import type { Sql } from "../../src/storage/sql.ts";

export const SWITCHES: readonly string[] = [
  "hashjoin",
  "mergejoin",
  "nestloop",
  "seqscan",
  "indexscan",
  "bitmapscan",
  "material",
  "hashagg",
  "sort",
  "memoize",
];

/** What a claim did under one plan: how many rows it returned, and how many are claimed in the table. */
export interface Claimed {
  readonly off: readonly string[];
  readonly returned: number;
  readonly changed: number;
}

/** Runs a claim with every pair of switches off, and with every one left on alone. Nothing of it stays. */
export async function underEveryPlan(
  url: string,
  claim: () => Sql,
  countClaimed: string,
): Promise<readonly Claimed[]> {
  const settings: readonly (readonly string[])[] = SWITCHES.flatMap((one) => [
    ...SWITCHES.map((other) => [one, other]),
    SWITCHES.filter((other) => other !== one),
  ]);
  const client = new pg.Client(url);
  await client.connect();
  const claims: Claimed[] = [];
  try {
    for (const off of settings) {
      await client.query("begin");
      for (const name of off) await client.query(`set local enable_${name} = off`);
      await client.query("set local plan_cache_mode = force_custom_plan");
      const { text, values } = claim();
      const { rows } = await client.query({ text, values: [...values] });
      const changed = await client.query(countClaimed);
      await client.query("rollback");
      claims.push({ off, returned: rows.length, changed: changed.rowCount ?? 0 });
    }
  } finally {
    await client.end();
  }
  return claims;
}

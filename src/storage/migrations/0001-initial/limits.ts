/**
 * Limits by key. `limit_turns` has one row for each table of work with limits: the claim that has locked it is the only one that
 * takes places. `limit_starts` has what has begun under a rate, until the period of that rate is over. What runs is counted by the
 * leases of the work itself.
 */
import type { Ddl } from "../ddl.ts";

export function limits({ instant, id, table, index, end }: Ddl): string[] {
  const turns = table("limit_turns");
  const starts = table("limit_starts");
  return [
    `create table ${turns} (queue text primary key${end()}`,
    `insert into ${turns} (queue) values ('sagas'), ('calls')`,
    `create table ${starts} (
      queue text not null,
      name text not null,
      rate_key ${id} not null,
      until_at ${instant} not null,
      starts integer not null,
      primary key (queue, name, rate_key, until_at)
    ${end("keyed")}`,
    index("limit_starts_over", `${starts} (queue, until_at)`),
  ];
}

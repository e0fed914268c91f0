/** Statements that corrupt the tables, in each dialect: `<table>` is a table, and `drop trigger_name on table` a trigger. */
import type { Database } from "../../../src/storage/database.ts";

export function corruptionSql({ dialect }: Database, statement: string): string {
  const table = (name: string): string => dialect.table(name).text;
  const [, trigger, on] = /^drop (\w+) on (\w+)$/.exec(statement) ?? [];
  if (trigger !== undefined && on !== undefined)
    return `drop trigger ${dialect.name === "sqlite" ? table(trigger) : `${trigger} on ${table(on)}`}`;
  return statement.replaceAll(/<(\w+)>/g, (_, name: string) => table(name));
}

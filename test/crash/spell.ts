/** Statements that forge the books, in the words of each database: `<table>`, and `drop trigger on table`. */
import type { Database } from "../../src/storage/database.ts";

export function spell({ dialect }: Database, statement: string): string {
  const table = (name: string): string => dialect.table(name).text;
  const [, trigger, on] = /^drop (\w+) on (\w+)$/.exec(statement) ?? [];
  if (trigger !== undefined && on !== undefined)
    return `drop trigger ${dialect.name === "sqlite" ? table(trigger) : `${trigger} on ${table(on)}`}`;
  return statement.replaceAll(/<(\w+)>/g, (_, name: string) => table(name));
}

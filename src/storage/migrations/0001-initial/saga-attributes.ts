/**
 * The attributes of sagas as rows, to find sagas by them. They are a copy of the column `attributes` of `saga_executions`, and
 * triggers keep them: whatever writes a saga's row, its attributes follow in the same statement. A saga without attributes has
 * no row here. A value is JSON, so that 1 is not "1". Each row repeats the saga's name, status and last change, so that one walk
 * along the index lists the sagas of a name, a state and a time.
 */
import type { Ddl } from "../ddl.ts";

export function sagaAttributes(ddl: Ddl): string[] {
  const { instant, id, table, index, end } = ddl;
  const name = table("saga_attributes");
  return [
    `create table ${name} (
      saga_id ${id} not null,
      name ${id} not null,
      value ${id} not null,
      saga_name ${id} not null,
      status text not null,
      updated_at ${instant} not null,
      primary key (saga_id, name)
    ${end("changing", "keyed")}`,
    index("saga_attributes_value", `${name} (name, value, saga_name, status, updated_at, saga_id)`),
    ...follow(ddl),
  ];
}

/** What happens to the row of a saga with attributes happens to them. */
function follow({ table, trigger, pick }: Ddl): string[] {
  const attributes = table("saga_attributes");
  const each = pick({
    postgres:
      "select new.id, a.key, a.value::text, new.name, new.status, new.updated_at from json_each(new.attributes::json) as a",
    // `->` returns a value as the JSON that it was written as. No name has a quote.
    sqlite: `select new.id, a.key, new.attributes -> ('$."' || a.key || '"'), new.name, new.status, new.updated_at from json_each(new.attributes) as a`,
  });
  const of = { table: "saga_executions" };
  return [
    ...trigger({
      ...of,
      name: "saga_attributes_insert",
      on: "insert",
      when: "new.attributes is not null",
      statement: `insert into ${attributes} (saga_id, name, value, saga_name, status, updated_at) ${each}`,
    }),
    ...trigger({
      ...of,
      name: "saga_attributes_update",
      on: "update",
      when: "new.attributes is not null",
      statement: `update ${attributes} set status = new.status, updated_at = new.updated_at where saga_id = new.id`,
    }),
    ...trigger({
      ...of,
      name: "saga_attributes_delete",
      on: "delete",
      when: "old.attributes is not null",
      statement: `delete from ${attributes} where saga_id = old.id`,
    }),
  ];
}

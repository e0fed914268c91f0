// Fills a database with finished sagas, by copying one that the library itself ran: every table of the library where that
// saga left rows gets copies of them under new ids. So the copies look as the library writes them, whatever its tables are.

/**
 * @param {() => Promise<import("pg").Client>} connect
 * @param {string} id of the saga to copy
 * @param {number} count
 */
export async function copyFinished(connect, id, count) {
  const client = await connect();
  const { rows: columns } = await client.query(
    `select table_name as "table", column_name as name, udt_name as type,
            is_generated = 'ALWAYS' or is_identity = 'YES' or coalesce(column_default like 'nextval(%', false) as automatic
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'amends' and table_type = 'BASE TABLE' order by ordinal_position`,
  );
  const copied = await Promise.all(
    [...byTable(columns)].map(([table, its]) => copyTable(connect, table, its, id, count)),
  );
  if (!copied.some(Boolean)) throw new Error("The saga to copy left no rows in the schema amends.");
  await client.query("analyze");
  await client.query("checkpoint");
  await client.end();
}

/** Tables are filled at the same time, each through a connection of its own. */
async function copyTable(connect, table, columns, id, count) {
  const client = await connect();
  try {
    // Triggers guard what people may do to a finished saga; here nobody does anything to one.
    await client.query("set session_replication_role = replica");
    const key = await columnWith(client, table, columns, id);
    return key ? await copyRows(client, table, columns, key, id, count) : 0;
  } finally {
    await client.end();
  }
}

/** @returns {Map<string, { name: string, type: string, automatic: boolean }[]>} */
function byTable(columns) {
  const tables = new Map();
  for (const { table, ...column } of columns) tables.set(table, [...(tables.get(table) ?? []), column]);
  return tables;
}

/** The column of a table that names the saga, if any does. */
async function columnWith(client, table, columns, id) {
  for (const column of columns.filter(
    ({ type }) => type === "text" || type === "varchar" || type === "uuid",
  )) {
    const { rowCount } = await client.query(
      `select 1 from amends."${table}" where "${column.name}"::text = $1 limit 1`,
      [id],
    );
    if (rowCount > 0) return column;
  }
  return undefined;
}

async function copyRows(client, table, columns, key, id, count) {
  const names = columns.filter(({ automatic }) => !automatic).map(({ name }) => `"${name}"`);
  // Ids that grow, as the library's own do.
  const values = names.map((name) =>
    name === `"${key.name}"`
      ? `('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::${key.type}`
      : `original.${name}`,
  );
  const { rowCount } = await client.query(
    `insert into amends."${table}" (${names}) select ${values}
     from generate_series(1, $2::int) as n, (select * from amends."${table}" where "${key.name}"::text = $1) as original`,
    [id, count],
  );
  return rowCount;
}

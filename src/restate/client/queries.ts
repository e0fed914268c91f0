/** Queries to Restate's admin interface, which has no parameters: names and statuses are checked before they come here. */

/** The sagas of a name that have this status. */
export function sagasByStatus(name: string, status: string, limit: number): string {
  return `select service_key from state where service_name = '${name}' and key = 'status' and value_utf8 = '"${status}"' order by service_key limit ${limit}`;
}

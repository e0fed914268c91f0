/** The handlers that open deliveries are for. */
import { CLAIMABLE } from "../../core/outbox/machine.ts";
import { text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

export interface OpenHandler {
  /** The type of the event. */
  readonly type: string;
  readonly handler: string;
}

export const OPEN_HANDLER: Projection<OpenHandler> = projection<OpenHandler>({
  type: text("name"),
  handler: text("handler"),
});

/** Of the open deliveries, at most this many are looked at. */
export function listOpenHandlers(dialect: Dialect, lookMax: number): Sql {
  return sql`select d.name, d.handler from (select name, handler from ${dialect.table("outbox")}
      where kind = 'delivery' and lane <> '' and status in (${literals(CLAIMABLE)}) and handler is not null limit ${lookMax}) as d
    group by d.name, d.handler order by d.name, d.handler`;
}

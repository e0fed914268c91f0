/** The first schema: one file for each owner of tables, in the final shape of each table. */
import type { Dialect } from "../database.ts";
import { REFUSED_STATE } from "../postgres/trouble.ts";
import { archive } from "./0001-initial/archive.ts";
import { audit } from "./0001-initial/audit.ts";
import { bulk } from "./0001-initial/bulk.ts";
import { erasure } from "./0001-initial/erasure.ts";
import { events } from "./0001-initial/events.ts";
import { limits } from "./0001-initial/limits.ts";
import { outbox } from "./0001-initial/outbox.ts";
import { pauses } from "./0001-initial/pauses.ts";
import { refusedWrites } from "./0001-initial/refused-writes.ts";
import { sagas } from "./0001-initial/sagas.ts";
import { schedules } from "./0001-initial/schedules.ts";
import { webhooks } from "./0001-initial/webhooks.ts";
import { workers } from "./0001-initial/workers.ts";
import { ddlOf } from "./ddl.ts";

export function initial(dialect: Dialect): string[] {
  const ddl = ddlOf(dialect);
  return [
    ...refusal(dialect),
    ...sagas(ddl),
    ...archive(ddl),
    ...schedules(ddl),
    ...outbox(ddl),
    ...events(ddl),
    ...audit(ddl),
    ...erasure(ddl),
    ...webhooks(ddl),
    ...refusedWrites(ddl),
    ...workers(ddl),
    ...limits(ddl),
    ...pauses(ddl),
    ...bulk(ddl),
  ];
}

/** Fails an optimistic write of which something is not as expected (storage/write/checked-write.ts). SQLite has no functions. */
function refusal(dialect: Dialect): string[] {
  const message = "amends: not as expected; the write is repeated with checks";
  return dialect.pick({
    postgres: [
      `create function ${dialect.table("refuse").text}() returns boolean language plpgsql as $$ begin raise exception '${message}' using errcode = '${REFUSED_STATE}'; end $$`,
    ],
    sqlite: [],
  });
}

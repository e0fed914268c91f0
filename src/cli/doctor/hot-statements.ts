/** The statements that a worker repeats for as long as it runs. They are explained here, never carried out. */
import { claimDeliveries } from "../../outbox/deliveries/claim-queries.ts";
import { claimEntries } from "../../outbox/queries.ts";
import { ENTRY } from "../../outbox/rows.ts";
import { claimSagas } from "../../sagas/journal/queries.ts";
import { selectPass } from "../../sagas/lost/queries.ts";
import { selectDue } from "../../sagas/read/figure-queries.ts";
import { selectDue as selectDueSchedules, selectUntilNext } from "../../schedules/tick-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import { selectDue as selectDueWebhooks } from "../../webhooks/deliver/delivery-queries.ts";
import { leaseJobs } from "../../webhooks/deliver/job-queries.ts";

export function hotStatements(dialect: Dialect): readonly (readonly [name: string, statement: Sql])[] {
  const [limit, leaseMs, owner] = [10, 60_000, "doctor"];
  return [
    ["claim of sagas", claimSagas(dialect, ["any@1#", "other@1#"], limit, owner, leaseMs)],
    ...(["call", "erasure"] as const).map(
      (kind) =>
        [
          `claim of the outbox (${kind})`,
          claimEntries(dialect, ENTRY, { kind, names: ["any", "other"], limit, leaseMs }),
        ] as const,
    ),
    [
      "claim of events",
      claimDeliveries(dialect, { deliverable: ["any@1", "other@1"], routable: ["any@1"] }, limit, leaseMs),
    ],
    ["due webhooks", selectDueWebhooks(dialect, ["deliveries", "jobs", "results"])],
    ["lease of webhook jobs", leaseJobs(dialect, limit, { leaseMs, owner })],
    ["due schedules", selectDueSchedules(dialect, ["any@1", "other@1"], limit)],
    ["next tick", selectUntilNext(dialect, ["any@1", "other@1"])],
    ["scan of the log", selectPass(dialect, "any", limit)],
    ["backlog", selectDue(dialect, limit)],
  ];
}

/** What happens when a convention is set up: what steps did, what the process as a whole achieved, and what to undo. */
import { event } from "amends/events";
import { z } from "zod";
import { conventionSrn, schemaSrn } from "./names.ts";

export const ConventionRegistered = event(
  "ConventionRegistered",
  z.object({
    conventionSrn,
    title: z.string(),
    schemaFields: z.array(z.string()),
    hooks: z.array(z.string()),
  }),
);

// Built by handlers: what a step did.
export const SchemaCreated = event(
  "SchemaCreated",
  z.object({ conventionSrn, schemaSrn, fieldCount: z.number() }),
);
export const SchemaCreationFailed = event(
  "SchemaCreationFailed",
  z.object({ conventionSrn, error: z.string() }),
);
export const FeatureTablesCreated = event(
  "FeatureTablesCreated",
  z.object({ conventionSrn, tableCount: z.number() }),
);
export const FeatureTablesFailed = event(
  "FeatureTablesFailed",
  z.object({ conventionSrn, failedHook: z.string() }),
);

// Built by the orchestrator: what the process achieved.
export const ConventionReady = event("ConventionReady", z.object({ conventionSrn }));
export const ConventionInitFailed = event(
  "ConventionInitFailed",
  z.object({ conventionSrn, error: z.string() }),
);

// Commands: undo this. They hold only the id; their handlers read the current state.
export const CompensateSchema = event("CompensateSchema", z.object({ conventionSrn }));
export const CompensateFeatureTables = event("CompensateFeatureTables", z.object({ conventionSrn }));

// Built by the handlers of commands.
export const TablesCompensated = event("TablesCompensated", z.object({ conventionSrn }));
export const CompensationFailed = event("CompensationFailed", z.object({ conventionSrn }));

// Outside of the saga: a record and its index, and the audit log.
export const RecordPublished = event(
  "RecordPublished",
  z.object({ recordSrn: z.string(), title: z.string() }),
);
export const RecordIndexed = event("RecordIndexed", z.object({ recordSrn: z.string() }));
export const IndexingFailed = event("IndexingFailed", z.object({ recordSrn: z.string() }));
export const AuditEntry = event("AuditEntry", z.object({ action: z.string(), resource: z.string() }));

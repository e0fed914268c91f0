/** What happens when a convention is set up: what steps did, what the process as a whole achieved, and what to undo. */
import { event } from "amends/events";
import { z } from "zod";

const conventionSrn = z.string();

export const ConventionRegistered = event(
  "ConventionRegistered",
  z.object({ conventionSrn, schemaFields: z.array(z.string()), hooks: z.array(z.string()) }),
);

// Built by handlers: what a step did.
export const SchemaCreated = event("SchemaCreated", z.object({ conventionSrn, fieldCount: z.number() }));
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

// Commands: undo this. They say which convention, no more; whoever handles them looks at how things are now.
export const CompensateSchema = event("CompensateSchema", z.object({ conventionSrn }));
export const CompensateFeatureTables = event("CompensateFeatureTables", z.object({ conventionSrn }));

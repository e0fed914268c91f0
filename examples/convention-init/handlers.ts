/** Each handler does its own work and says how it went. Nothing here knows that there is a process around it. */
import { err, handler, ok } from "amends/events";
import {
  ConventionRegistered,
  FeatureTablesCreated,
  FeatureTablesFailed,
  SchemaCreated,
  SchemaCreationFailed,
} from "./events.ts";

/** The hooks that each schema was made for, and the tables that exist: what a database would know. */
const hooksOf = new Map<string, readonly string[]>();
const tables = new Set<string>(["taken"]);

export const createConventionSchema = handler("CreateConventionSchema", {
  on: ConventionRegistered,
  ok: SchemaCreated,
  err: SchemaCreationFailed,
  handle: async ({ conventionSrn, schemaFields, hooks }) => {
    if (schemaFields.length === 0) return err(SchemaCreationFailed({ conventionSrn, error: "no fields" }));
    hooksOf.set(conventionSrn, hooks);
    return ok(SchemaCreated({ conventionSrn, fieldCount: schemaFields.length }));
  },
});

export const createFeatureTables = handler("CreateFeatureTables", {
  on: SchemaCreated,
  ok: FeatureTablesCreated,
  err: FeatureTablesFailed,
  handle: async ({ conventionSrn }) => {
    const hooks = hooksOf.get(conventionSrn) ?? [];
    const failedHook = hooks.find((hook) => tables.has(hook));
    if (failedHook !== undefined) return err(FeatureTablesFailed({ conventionSrn, failedHook }));
    for (const hook of hooks) tables.add(hook);
    return ok(FeatureTablesCreated({ conventionSrn, tableCount: hooks.length }));
  },
});

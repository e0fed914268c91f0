/** Each handler does its own work and says how it went. Nothing here knows that there is a process around it. */
import {
  err,
  EventHandler,
  handler,
  ok,
  type DeliveredOf,
  type Handler,
  type HandlerContext,
} from "amends/events";
import {
  AuditEntry,
  CompensateFeatureTables,
  CompensationFailed,
  ConventionRegistered,
  FeatureTablesCreated,
  FeatureTablesFailed,
  IndexingFailed,
  RecordIndexed,
  RecordPublished,
  SchemaCreated,
  SchemaCreationFailed,
  TablesCompensated,
} from "./events.ts";
import { ConflictError, DomainError } from "./services.ts";
import type { ConventionRepository, FeatureService, SchemaService, SearchService } from "./services.ts";

/** A class, with its services in the constructor. Its audit entry is a side effect: no saga depends on it. */
export class CreateConventionSchema extends EventHandler<
  typeof ConventionRegistered,
  typeof SchemaCreated,
  typeof SchemaCreationFailed
> {
  readonly #schemas: SchemaService;

  constructor(schemas: SchemaService) {
    super("CreateConventionSchema", {
      on: ConventionRegistered,
      ok: SchemaCreated,
      err: SchemaCreationFailed,
    });
    this.#schemas = schemas;
  }

  async handle(
    { conventionSrn, schemaFields }: DeliveredOf<typeof ConventionRegistered>,
    { outbox }: HandlerContext,
  ) {
    const srn = String(conventionSrn);
    try {
      const schema = await this.#schemas.createSchema(conventionSrn, schemaFields);
      outbox.append(AuditEntry({ action: "schema_created", resource: srn }));
      const schemaSrn = String(schema);
      return ok(SchemaCreated({ conventionSrn: srn, schemaSrn, fieldCount: schemaFields.length }));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return err(SchemaCreationFailed({ conventionSrn: srn, error: error.message }));
    }
  }
}

/** A function does as well. */
export function createFeatureTables(
  conventions: ConventionRepository,
  features: FeatureService,
): Handler<typeof SchemaCreated, typeof FeatureTablesCreated, typeof FeatureTablesFailed> {
  return handler("CreateFeatureTables", {
    on: SchemaCreated,
    ok: FeatureTablesCreated,
    err: FeatureTablesFailed,
    handle: async ({ conventionSrn }) => {
      const srn = String(conventionSrn);
      const hooks = await conventions.hooksOf(conventionSrn);
      for (const hook of hooks) {
        try {
          await features.createTable(hook);
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error;
          return err(FeatureTablesFailed({ conventionSrn: srn, failedHook: hook }));
        }
      }
      return ok(FeatureTablesCreated({ conventionSrn: srn, tableCount: hooks.length }));
    },
  });
}

/** Undoes what createFeatureTables did. The command holds only the id, so it reads how things are now. */
export function undoFeatureTables(
  conventions: ConventionRepository,
  features: FeatureService,
): Handler<typeof CompensateFeatureTables, typeof TablesCompensated, typeof CompensationFailed> {
  return handler("UndoFeatureTables", {
    on: CompensateFeatureTables,
    ok: TablesCompensated,
    err: CompensationFailed,
    handle: async ({ conventionSrn }) => {
      for (const hook of await conventions.hooksOf(conventionSrn)) await features.dropTable(hook);
      return ok(TablesCompensated({ conventionSrn: String(conventionSrn) }));
    },
  });
}

/** A handler outside of any saga: the worker sends the event that it returns. */
export function indexPublishedRecord(
  search: SearchService,
): Handler<typeof RecordPublished, typeof RecordIndexed, typeof IndexingFailed> {
  return handler("IndexPublishedRecord", {
    on: RecordPublished,
    ok: RecordIndexed,
    err: IndexingFailed,
    handle: async ({ recordSrn, title }) => {
      await search.index(recordSrn, title);
      return ok(RecordIndexed({ recordSrn }));
    },
  });
}

/** What the handlers work with: in an application, repositories and services on a database. */
import { Terminal } from "amends";
import { SchemaSrn, type ConventionSrn } from "./names.ts";

/** The hooks of each convention. */
export class ConventionRepository {
  readonly #hooks = new Map<string, readonly string[]>();

  save(srn: ConventionSrn, hooks: readonly string[]): void {
    this.#hooks.set(String(srn), hooks);
  }

  async hooksOf(srn: ConventionSrn): Promise<readonly string[]> {
    return this.#hooks.get(String(srn)) ?? [];
  }
}

export class DomainError extends Error {}
export class ConflictError extends DomainError {}

export class SchemaService {
  async createSchema(of: ConventionSrn, fields: readonly string[]): Promise<SchemaSrn> {
    if (fields.length === 0) throw new DomainError("a schema needs a field");
    return new SchemaSrn(of.localId);
  }
}

export class FeatureService {
  readonly tables = new Set<string>(["taken"]);

  async createTable(hook: string): Promise<void> {
    if (hook === "broken") throw new Terminal("DISK_FULL");
    if (this.tables.has(hook)) throw new ConflictError(hook);
    this.tables.add(hook);
  }

  async dropTable(hook: string): Promise<void> {
    this.tables.delete(hook);
  }
}

export class SearchService {
  readonly indexed: string[] = [];

  async index(recordSrn: string, title: string): Promise<void> {
    this.indexed.push(`${recordSrn} (${title})`);
  }
}

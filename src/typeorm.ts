/**
 * TypeORM on PostgreSQL: `postgres({ url, joins: typeorm(dataSource) })`. `tx` is the entity manager of
 * `dataSource.transaction(async (manager) => …)`, or `queryRunner.manager` after `queryRunner.startTransaction()`.
 */
import { AmendsError } from "./core/errors.ts";
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** A data source of TypeORM, as far as Amends uses it. */
export interface TypeormDataSource<Manager> {
  /** The manager outside of transactions, which gives the managers their type. */
  readonly manager: Manager;
}

/** What entity managers and data sources have at run time. */
interface EntityManager {
  readonly queryRunner?: {
    readonly isTransactionActive: boolean;
    readonly isReleased: boolean;
    query(text: string, values: unknown[], structured: true): Promise<{ readonly records: Row[] }>;
  };
  /** Since version 1. */
  readonly dataSource?: object;
  /** The data source before version 1. */
  readonly connection?: object;
}

interface DataSource<Manager> {
  transaction<T>(work: (manager: Manager) => Promise<T>): Promise<T>;
}

const LINE = "dataSource.transaction((manager) => amends.start(saga, input, { id, tx: manager }))";

/** Joins transactions of TypeORM. The steps' transactions are opened on the data source. */
export function typeorm<Manager>(dataSource: TypeormDataSource<Manager>): Joins<Manager> {
  return {
    dialect: "postgres",
    client: "typeorm",
    check(tx) {
      const { queryRunner, manager } = (tx ?? {}) as EntityManager & { readonly manager?: unknown };
      if (queryRunner === undefined && manager !== undefined && !("transaction" in (tx as object)))
        throw new AmendsError("NEEDS_TRANSACTION", "You passed a QueryRunner: pass its `manager`.");
      if (queryRunner?.isTransactionActive !== true || queryRunner.isReleased) {
        throw notTransaction("typeorm", LINE);
      }
      return true;
    },
    async query(tx, { text, values }: CarriedStatement) {
      const { queryRunner } = tx as Required<EntityManager>;
      return (await queryRunner.query(text, [...values], true)).records;
    },
    transaction: (work) => (dataSource as unknown as DataSource<Manager>).transaction(work),
    origin: (tx) => (tx as EntityManager).dataSource ?? (tx as EntityManager).connection,
  };
}

export type { CarriedStatement, Joins };

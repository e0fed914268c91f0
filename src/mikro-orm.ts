/**
 * MikroORM on PostgreSQL: `postgres({ url, joins: mikroOrm(orm) })`. `tx` is the entity manager of
 * `em.transactional(async (em) => …)`, or one after `await em.begin()`.
 */
import type { Row } from "./storage/database.ts";
import { marked } from "./storage/joins/carried-statement.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";

/** A MikroORM, as far as Amends uses it. */
export interface MikroOrmInstance<Manager> {
  /** The global entity manager, which gives the entity managers their type. */
  readonly em: Manager;
}

/** What entity managers have at run time. */
interface EntityManager {
  isInTransaction(): boolean;
  /** Knex's transaction. An entity manager keeps it after its end. */
  getTransactionContext?(): { isCompleted?(): boolean } | undefined;
  execute(text: string, values: unknown[], method: "all"): Promise<Row[]>;
  fork(): EntityManager;
  transactional<T>(work: (em: never) => Promise<T>): Promise<T>;
  /** One object for all entity managers of a database. */
  getDriver(): object;
}

const LINE = "em.transactional((em) => amends.start(saga, input, { id, tx: em }))";

/** Joins transactions of MikroORM. The steps' transactions are opened on a fork of its entity manager. */
export function mikroOrm<Manager>(orm: MikroOrmInstance<Manager>): Joins<Manager> {
  return {
    dialect: "postgres",
    client: "mikroOrm",
    check(tx) {
      const { isInTransaction, execute } = (tx ?? {}) as Partial<EntityManager>;
      if (typeof isInTransaction !== "function" || typeof execute !== "function") throw refusal();
      const manager = tx as EntityManager;
      if (!manager.isInTransaction() || manager.getTransactionContext?.()?.isCompleted?.() === true)
        throw refusal();
      return true;
    },
    query: (tx, statement) => (tx as EntityManager).execute(marked(statement), [...statement.values], "all"),
    transaction: (work) => (orm.em as EntityManager).fork().transactional(work),
    origin: (tx) => (tx as EntityManager).getDriver(),
  };
}

function refusal(): Error {
  return notTransaction("mikroOrm", LINE);
}

export type { CarriedStatement, Joins };

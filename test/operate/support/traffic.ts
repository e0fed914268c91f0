/** A database whose statements are counted as they are sent, those of transactions too. Other processes' notices are lost on it. */
import type { Database, Session } from "../../../src/storage/database.ts";
import type { Sql } from "../../../src/storage/sql.ts";

export interface Traffic {
  readonly database: Database;
  /** The texts of the statements that were sent since the last call, in their order. */
  sent(): readonly string[];
  /** Statements that were not answered yet. */
  readonly underWay: number;
}

/** `before` may throw, as if the database had refused that statement; `listen` gives notices of the test's own. */
export function traffic(
  db: Database,
  before: (text: string) => void = () => undefined,
  listen?: Database["listen"],
): Traffic {
  let sent: string[] = [];
  let underWay = 0;
  const sending = async <T>(statements: readonly Sql[], send: () => Promise<T>): Promise<T> => {
    underWay++;
    try {
      for (const { sql } of statements) {
        sent.push(sql);
        before(sql);
      }
      return await send();
    } finally {
      underWay--;
    }
  };
  const session = (own: Session): Session => ({
    dialect: own.dialect,
    query: (statement) => sending([statement], () => own.query(statement)),
  });
  const database = new Proxy(db, {
    get(target, key) {
      if (key === "listen") return listen;
      if (key === "query")
        return (statement: Sql, limitMs?: number) =>
          sending([statement], () => target.query(statement, limitMs));
      if (key === "batch")
        return (statements: readonly Sql[], epoch?: number) =>
          sending(statements, () => target.batch(statements, epoch));
      if (key === "transaction")
        return (work: (own: Session, tx: unknown) => Promise<unknown>, foreign?: boolean) =>
          sending([], () => target.transaction((own, tx) => work(session(own), tx), foreign));
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    database,
    sent: () => {
      const texts = sent;
      sent = [];
      return texts;
    },
    get underWay() {
      return underWay;
    },
  };
}

/** The look of a worker reads figures of its duties, and writes nothing. */
export function isLook(text: string): boolean {
  return text.startsWith("select") && text.includes(" as figure_0");
}

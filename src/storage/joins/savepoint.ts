/** Runs work in a savepoint of the caller's transaction: a failure rolls back to the savepoint. */
import { raw, type Sql } from "../sql.ts";
import type { Work } from "./work.ts";

export function* inSavepoint<T>(name: string, work: () => Work<T>): Work<T> {
  yield savepoint(name);
  try {
    const result = yield* work();
    yield releaseSavepoint(name);
    return result;
  } catch (error) {
    yield* takeBack(name);
    throw error;
  }
}

function* takeBack(name: string): Work<void> {
  try {
    yield rollbackTo(name);
    yield releaseSavepoint(name);
  } catch {
    // The database already rolled back the whole transaction (a lost connection, a full disk).
  }
}

function savepoint(name: string): Sql {
  return raw(`savepoint ${name}`);
}

function releaseSavepoint(name: string): Sql {
  return raw(`release savepoint ${name}`);
}

function rollbackTo(name: string): Sql {
  return raw(`rollback to savepoint ${name}`);
}

/** The sagas that this process knows, by name and version. */
import { AmendsError } from "../../core/errors.ts";
import { waitFor } from "../../core/saga/wait.ts";
import type { Dialect } from "../../storage/database.ts";
import type { AnySaga } from "./definition.ts";
import type { Kind } from "../journal/journal.ts";

export class Registry {
  readonly #sagas = new Map<string, AnySaga>();

  /** `dialect` is undefined for a storage of the user's own, which has no transactions to offer. */
  constructor(sagas: readonly AnySaga[], dialect: Dialect["name"] | undefined) {
    for (const saga of sagas) {
      const key = keyOf(saga.name, saga.version);
      if (saga.steps.length === 0) throw bad(`Saga ${saga.name} has no steps.`);
      if (this.#sagas.has(key)) {
        throw bad(
          `Saga ${saga.name} is registered twice with version ${saga.version}. Give one of them another version.`,
        );
      }
      for (const { name, transaction, planned } of saga.steps) {
        if (dialect === undefined && planned.wait && planned.wait.kind !== "sleep") {
          throw bad(
            `Saga ${saga.name}, step ${name}: it waits for ${waitFor(planned.wait)}, which a storage of your own cannot keep. Use \`postgres\` or \`sqlite\` for that.`,
          );
        }
        if (transaction && transaction.dialect !== dialect) {
          throw bad(
            `Saga ${saga.name}, step ${name}: it wants a transaction of ${transaction.dialect}, but the sagas are kept in ${dialect ?? "a storage without transactions"}.`,
          );
        }
      }
      this.#sagas.set(key, saga);
    }
  }

  get(name: string, version: number): AnySaga | undefined {
    return this.#sagas.get(keyOf(name, version));
  }

  require(saga: AnySaga): void {
    if (this.get(saga.name, saga.version) === saga) return;
    const known = [...this.#sagas.keys()].join(", ") || "none";
    throw new AmendsError(
      "UNKNOWN_SAGA",
      `Saga ${saga.name} (version ${saga.version}) is not registered here. Add it to \`new Amends({ sagas: [...] })\`. Registered: ${known}.`,
      { name: saga.name, version: saga.version },
    );
  }

  kinds(): readonly Kind[] {
    return [...this.#sagas.values()].map(({ name, version }) => ({ name, version }));
  }
}

function keyOf(name: string, version: number): string {
  return `${name}@${version}`;
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", message);
}

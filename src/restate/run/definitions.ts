/** The definitions that a service serves, by name and version. What Restate cannot keep is refused here, before any saga starts. */
import { AmendsError } from "../../core/errors.ts";
import { waitFor } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { Registry } from "../../sagas/define/registry.ts";
import type { StepDefinition } from "../../sagas/define/settings.ts";
import type { TransactionOffer } from "../../sagas/define/transaction-kind.ts";

/** Throws `BAD_DEFINITION` if a definition has something that needs a database. */
export function checked(sagas: readonly AnySaga[]): Registry {
  for (const { name, stalled, settings, steps = [] } of sagas) {
    if (stalled) throw refusal(name, "onStalled makes a durable call, which needs the outbox of a database");
    if (settings?.limits) throw refusal(name, "limits by key are counted in a database");
    for (const step of steps) {
      const why = whyNot(step);
      if (why !== undefined) throw refusal(`${name}, step ${step.name}`, why);
    }
  }
  return new Registry(sagas, NO_TRANSACTIONS);
}

/** Transactional steps are refused before the registry looks at theirs. */
const NO_TRANSACTIONS: TransactionOffer = { client: undefined, dialect: { name: "postgres" } };

function whyNot({ transaction, planned, enqueues }: StepDefinition): string | undefined {
  const waits = [planned.wait, ...(planned.wait?.any ?? []), planned.repeat?.until];
  const event = waits.find((wait) => wait?.kind === "event");
  if (transaction)
    return "a transactional step commits with its checkpoint, which is not in its database here";
  if (event) return `it waits for ${waitFor(event)}, which needs the index of a database`;
  if (planned.child !== undefined) return "child sagas are linked in a database";
  return enqueues ? "it makes a durable call, which needs the outbox of a database" : undefined;
}

function refusal(what: string, why: string): AmendsError {
  return new AmendsError(
    "BAD_DEFINITION",
    `Saga ${what}: ${why}. This saga does not run on Restate; run it on \`postgres\` or \`sqlite\`.`,
  );
}

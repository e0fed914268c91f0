/** The stories on Restate, in a service that may die. */
import { RestateSagas } from "../../../src/restate.ts";
import type { StoredSaga } from "../../../src/restate/stored-saga.ts";
import type { Ledger } from "./ledger.ts";
import type { Engine } from "./play.ts";
import type { RestateServer } from "./restate-server.ts";

export function onRestate({ ingress, admin }: RestateServer, ledger: Ledger): Engine {
  const sagas = new RestateSagas({ ingress, admin });
  return {
    ledger,
    async start({ saga }, id) {
      const run = await sagas.start(saga, {}, { id });
      return {
        signal: (type, payload, signalId) =>
          run.signal(type, payload, signalId === undefined ? {} : { id: signalId }),
        cancel: (note) => run.cancel(note),
        retry: (note) => run.retry(note),
        skip: (step, note) => run.skip(step, note),
        resolve: (as, note) => run.resolve(as, note),
        result: () => run.result(),
      };
    },
    view: ({ saga }, id) => sagas.find(saga, id).view(),
    async lines({ saga }, id) {
      const answer = await fetch(`${ingress}/${saga.name}/${id}/look`, { method: "POST" });
      return ((await answer.json()) as { value: StoredSaga }).value.entries;
    },
  };
}

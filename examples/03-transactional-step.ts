/**
 * A transactional step: what its act writes through `tx` commits together with the step's checkpoint, so it happens
 * exactly once, however often the act is called. On PostgreSQL `tx` is a client; import `transaction` from there.
 */
import { Amends, err, ok, saga } from "amends";
import { sqlite, transaction, type SqliteHandle } from "amends/sqlite";
import { z } from "zod";

const transfer = saga("transfer", z.object({ from: z.string(), to: z.string(), cents: z.number().int() }), {
  retry: { attempts: 3, base: "20ms" },
})
  .step("take", {
    transaction,
    act: ({ input, tx, attempt }) => {
      const changed = tx
        .prepare("update accounts set cents = cents - ? where name = ? and cents >= ? returning cents")
        .all(input.cents, input.from, input.cents);
      // The first try fails after it has written: its write is rolled back with it.
      if (attempt === 1) throw new Error("a hiccup");
      return changed.length === 0 ? err("too-little") : ok();
    },
    compensate: ({ input, tx }) => give(tx, input.from, input.cents),
  })
  .step("give", { transaction, act: ({ input, tx }) => give(tx, input.to, input.cents) });

function give(tx: SqliteHandle, name: string, cents: number): void {
  tx.prepare("update accounts set cents = cents + ? where name = ?").run(cents, name);
}

const create = saga("create-accounts", z.object({})).step("create", {
  transaction,
  act: ({ tx }) => {
    tx.exec("create table accounts (name text primary key, cents integer not null)");
    tx.exec("insert into accounts values ('ann', 1000), ('ben', 0)");
  },
});

const balances = saga("balances", z.object({})).step("read", {
  transaction,
  act: ({ tx }) => tx.prepare("select name, cents from accounts order by name").all(),
});

const database = sqlite(process.argv[2] ?? ":memory:");
const amends = new Amends({ database, sagas: [transfer, create, balances] });
await amends.migrate();
await amends.worker().start();

await (await amends.start(create, {})).result();
for (const cents of [300, 5_000]) {
  const run = await amends.start(transfer, { from: "ann", to: "ben", cents });
  console.log(cents, (await run.result()).status);
}
const read = await (await amends.start(balances, {})).result();
if (read.status === "COMPLETED") console.log(JSON.stringify(read.results.read));
await amends.close();

// DBOS Transact: a workflow of five steps, called directly.
import { DBOS } from "@dbos-inc/dbos-sdk";

const names = ["a", "b", "c", "d", "e"];

const five = DBOS.registerWorkflow(
  async () => {
    let last;
    for (const name of names) last = await DBOS.runStep(async () => ({ n: 1 }), { name });
    return last;
  },
  { name: "five" },
);

export async function open(options) {
  await launch(options);
  return {
    one: (_lane, n) => five({ n }),
    close: () => DBOS.shutdown(),
  };
}

export async function launch({ url, poolSize = 20 }) {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    systemDatabasePoolSize: poolSize,
    logLevel: "error",
  });
  await DBOS.launch();
}

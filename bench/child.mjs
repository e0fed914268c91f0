// What runs in the child process of one participant. A participant is a file in participants/ that exports either
//   open(options) → { one(lane, n), close() }  and perhaps  prepare(options), which creates its tables, or
//   run(options) → figures                     where a trial is something else than sagas in flight.
import { measureLoad } from "./load.mjs";

// Without its parent a trial is of no use to anybody.
process.once("disconnect", () => process.exit(1));

process.once("message", async ({ participant, mode, options }) => {
  try {
    const module = await import(`./participants/${participant}.mjs`);
    process.send({ figures: await modes[mode](module, options) }, () => process.exit(0));
  } catch (error) {
    process.send({ error: error?.stack ?? String(error) }, () => process.exit(1));
  }
});

const modes = {
  prepare: async (module, options) => {
    await module.prepare?.(options);
    return {};
  },
  load: async (module, options) => {
    const participant = await module.open(options);
    const position = options.monitorUrl ? await walPosition(options.monitorUrl) : undefined;
    const figures = await measureLoad({ ...options, one: participant.one, walBytes: position?.read });
    await position?.close();
    await participant.close();
    return figures;
  },
  run: (module, options) => module.run(options),
};

/** Reads the WAL position through another database, so that the participant's own counts stay clean. */
async function walPosition(url) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    read: async () =>
      (await client.query("select (pg_current_wal_insert_lsn() - '0/0')::float8 as at")).rows[0].at,
    close: () => client.end(),
  };
}

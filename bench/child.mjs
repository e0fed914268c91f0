// The process of one side. Its participant, a file in participants/, exports
//   open(options) → { one(lane, n), close() }   sagas in flight, measured by load.mjs, or
//   open(options) → { slice(), close() }        where a slice is something else.
// `close` may return figures of the whole run.
import { measureLoad } from "./load.mjs";

// Without its parent a side is of no use to anybody.
process.once("disconnect", () => process.exit(1));

/** @type {{ slice(): Promise<Record<string, number>>, close(): Promise<unknown> } | undefined} */
let side;

process.on("message", async (message) => {
  try {
    process.send({ figures: await answer(message) }, () => "close" in message && process.exit(0));
  } catch (error) {
    process.send({ error: error?.stack ?? String(error) }, () => process.exit(1));
  }
});

async function answer(message) {
  if ("slice" in message) return side.slice();
  if ("open" in message) side = await open(message.open, message.options);
  else await side.close();
  return {};
}

async function open(participant, options) {
  const module = await import(`./participants/${participant}.mjs`);
  const opened = await module.open(options);
  if (opened.slice) return opened;
  const wal = options.monitorUrl ? await walPosition(options.monitorUrl) : undefined;
  let next = 0;
  return {
    async slice() {
      const figures = await measureLoad({ ...options, from: next, one: opened.one, walBytes: wal?.read });
      next += 1_000_000_000;
      return figures;
    },
    async close() {
      await wal?.close();
      await opened.close();
    },
  };
}

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

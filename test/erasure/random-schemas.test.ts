import { AmendsError } from "amends";
import { dataMapFromJson } from "amends/erasure";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Erasure } from "../../src/erasure/erasure.ts";
import type { Row } from "../../src/storage/database.ts";
import { onEachDatabase } from "../support/databases.ts";
import { build, worlds, type BuiltWorld } from "./support/random-schema.ts";
import { caller } from "./support/shop.ts";

const ROUNDS = { sqlite: 300, postgres: 60 };
const REFUSALS = ["ERASURE_REFUSED", "DATA_MAP_MISFIT"];

onEachDatabase((database) => {
  it(
    "[E-02][E-03][E-05] on random schemas, an erasure takes away every marker of one person and nothing else, or is refused and writes nothing",
    { timeout: 120_000 },
    async () => {
      const amends = await database.amends({});
      const own = await caller(database);
      const isSqlite = database.name === "sqlite";
      const ends = new Map<string, number>();

      const look = async (tables: readonly string[]): Promise<readonly Row[]> => {
        const all: Row[] = [];
        for (const table of tables) {
          all.push(...(await own.rows(`select '${table}' as "table", t.* from ${table} as t order by id`)));
        }
        return JSON.parse(JSON.stringify(all, (_key, value: unknown) => readable(value))) as Row[];
      };

      /** What is wrong after an erasure of Ann: nothing. */
      const wrongs = async (world: BuiltWorld): Promise<readonly string[]> => {
        for (const insert of world.inserts) await own.exec(insert);
        const before = await look(world.tables);
        const erasure = new Erasure(amends.context, { dataMap: dataMapFromJson(world.map) });
        const end = await own
          .transaction((tx) => erasure.eraseSubject("ann", [], { tx }))
          .then(
            () => "erased",
            (error: unknown) => (error instanceof AmendsError ? error.code : String(error)),
          );
        await erasure.recorded();
        ends.set(end, (ends.get(end) ?? 0) + 1);
        const after = await look(world.tables);
        if (REFUSALS.includes(end)) return same(before, after) ? [] : ["a refusal wrote something"];
        if (end !== "erased") return [end];
        const text = JSON.stringify(after);
        const verified = await erasure.verifySubject("ann");
        const broken = isSqlite ? await own.rows("pragma foreign_key_check") : [];
        return [
          ...[...world.erased].filter((marker) => text.includes(marker)).map((marker) => `${marker} is left`),
          ...[...world.kept].filter((marker) => !text.includes(marker)).map((marker) => `${marker} is gone`),
          ...(same(ofOthers(before, world), ofOthers(after, world)) ? [] : ["somebody else was changed"]),
          ...(verified.clean ? [] : ["the read-back found something"]),
          ...broken.map(() => "a foreign key is broken"),
        ];
      };

      await fc.assert(
        fc.asyncProperty(worlds, async (random) => {
          const world = build(random, database.name);
          await own.exec(world.ddl);
          try {
            expect(await wrongs(world)).toEqual([]);
          } finally {
            if (isSqlite) await own.exec("pragma foreign_keys = off");
            for (const table of world.tables)
              await own.exec(`drop table ${table}${isSqlite ? "" : " cascade"}`);
            if (isSqlite) await own.exec("pragma foreign_keys = on");
          }
        }),
        { numRuns: ROUNDS[database.name], seed: 20_261_116 },
      );
      // The schemas are worth something only if they end in every way.
      expect(Math.min(...["erased", ...REFUSALS].map((end) => ends.get(end) ?? 0))).toBeGreaterThan(3);
    },
  );
});

function readable(value: unknown): unknown {
  const given = value as { type?: unknown; data?: number[] } | null;
  const bytes = given?.type === "Buffer" ? given.data : value;
  if (bytes instanceof Uint8Array || (Array.isArray(bytes) && typeof bytes[0] === "number")) {
    return Buffer.from(bytes as number[]).toString("latin1");
  }
  return value;
}

function same(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

/** Rows of the other person, as they were; a foreign key of theirs may have been emptied by its own rule. */
function ofOthers(rows: readonly Row[], { others }: BuiltWorld): readonly unknown[] {
  return rows
    .filter((row) => others.has(row["id"] as string))
    .map((row) => ({ ...row, also: undefined, also_b: undefined }));
}

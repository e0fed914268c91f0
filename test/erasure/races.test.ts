/** Requests of one subject that come at once, on connections of their own. */
import { AmendsError } from "amends";
import { memoryResolver } from "amends/testing";
import { expect, it } from "vitest";
import { raw } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";
import { RACE_MS, rounds } from "../support/rounds.ts";
import { caller, openShop } from "./support/shop.ts";

const ROUNDS = rounds(100, 4_000);
const LANES = 4;

onDatabase("postgres", (database) => {
  it(
    "[O-14][E-08] of a rectification and an erasure that race, the erasure has the last word, in the tables and in the outbox",
    { timeout: 2 * RACE_MS },
    async () => {
      const crm = memoryResolver("crm");
      const shop = await openShop(database, { resolvers: [crm] });
      const refs = [{ kind: "crm", value: "c" }];
      const ends = { refused: 0, superseded: 0 };
      const lane = async (at: number): Promise<void> => {
        const [one, other] = [await caller(database), await caller(database)];
        for (let round = 0; round < ROUNDS / LANES; round++) {
          const subjectId = `s-${at}-${round}`;
          await one.exec(`insert into users values ('${subjectId}', '${subjectId}@x', 'real', '')`);
          const rectify = one
            .transaction((tx) =>
              shop.erasure.rectifySubject(subjectId, [{ category: "name", value: "canary" }], refs, { tx }),
            )
            .then(
              () => "superseded" as const,
              (error: unknown) => {
                if (error instanceof AmendsError && error.code === "SUBJECT_ERASED")
                  return "refused" as const;
                throw error;
              },
            );
          const erase = other.transaction((tx) =>
            shop.erasure.eraseSubject(subjectId, round % 2 === 0 ? refs : [], { tx }),
          );
          const [end] = await Promise.all([rectify, erase]);
          ends[end]++;
        }
      };
      await Promise.all(Array.from({ length: LANES }, (_, at) => lane(at)));
      const outbox = shop.db.dialect.table("outbox").text;
      expect(await shop.rows("select count(*)::int as n from users where name <> 'erased'")).toEqual([
        { n: 0 },
      ]);
      const open = await shop.db.query(
        raw(
          `select count(*)::int as n from ${outbox} where operation = 'rectify' and (status <> 'superseded' or payload is not null)`,
        ),
      );
      expect(open).toEqual([{ n: 0 }]);
      expect(ends.refused + ends.superseded).toBe(ROUNDS);
      expect(Math.min(ends.refused, ends.superseded)).toBeGreaterThan(0);
    },
  );

  it(
    "[E-07] erasures of one subject that race follow one another: each has its generation",
    { timeout: 120_000 },
    async () => {
      const shop = await openShop(database);
      const callers = await Promise.all(Array.from({ length: 5 }, () => caller(database)));
      for (let round = 0; round < 20; round++) {
        const subjectId = `s-${round}`;
        await shop.own.exec(`insert into users values ('${subjectId}', '${subjectId}@x', 'real', '')`);
        const reports = await Promise.all(
          callers.map((own) => own.transaction((tx) => shop.erasure.eraseSubject(subjectId, [], { tx }))),
        );
        expect(reports.map(({ generation }) => generation).toSorted((a, b) => a - b)).toEqual([
          1, 2, 3, 4, 5,
        ]);
      }
    },
  );
});

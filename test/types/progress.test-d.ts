import { saga } from "amends";
import type { Json, NoProgress } from "amends/sagas";
import { transaction } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const nothing = z.object({});
const Cursor = z.object({ page: z.number(), since: z.string().transform((text) => new Date(text)) });
interface Read {
  page: number;
  since: Date;
}

it("[S-45] progress without a schema is JSON", () => {
  saga("copy", nothing).step("files", {
    act: ({ progress, lastProgress }) => {
      progress({ page: 1, names: ["a"], none: null, missing: undefined });
      expectTypeOf(lastProgress).toEqualTypeOf<Json | undefined>();
      // @ts-expect-error a function is no JSON
      progress({ page: () => 1 });
      // @ts-expect-error neither is a date
      progress(new Date());
      return 7;
    },
    compensate: ({ progress, lastProgress, result }) => {
      progress("half");
      expectTypeOf(lastProgress).toEqualTypeOf<Json | undefined>();
      expectTypeOf(result).toEqualTypeOf<number | undefined>();
    },
  });
});

it("[S-45] a schema types what is reported and what the next try gets, in every kind of step that calls", () => {
  const call = {
    act: ({
      progress,
      lastProgress,
    }: {
      progress: (value: { page: number; since: string }) => void;
      lastProgress: Read | undefined;
    }) => {
      progress({ page: lastProgress?.page ?? 0, since: "2026-01-01" });
    },
  };
  saga("copy", nothing)
    .step("files", {
      progress: Cursor,
      act: ({ progress, lastProgress }) => {
        expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>();
        progress({ page: 1, since: "2026-01-01" });
        // @ts-expect-error the schema does not have it
        progress({ offset: 1 });
        // @ts-expect-error what the schema takes is a text
        progress({ page: 1, since: new Date() });
        return "all";
      },
      compensate: ({ lastProgress }) => expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>(),
      fallback: {
        name: "other",
        progress: z.number(),
        act: ({ lastProgress }) => expectTypeOf(lastProgress).toEqualTypeOf<number | undefined>(),
      },
    })
    .parallel("both", (group) =>
      group.step("left", { progress: Cursor, ...call }).step("right", {
        progress: z.string(),
        act: ({ lastProgress }) => expectTypeOf(lastProgress).toEqualTypeOf<string | undefined>(),
      }),
    )
    .each("items", {
      progress: Cursor,
      over: () => ["a"],
      key: (item) => item,
      act: ({ item, lastProgress }) => {
        expectTypeOf(item).toEqualTypeOf<string>();
        expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>();
      },
      compensate: ({ lastProgress }) => expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>(),
    })
    .repeat("rounds", {
      progress: Cursor,
      every: "1s",
      max: 3,
      act: ({ round, lastProgress }) => {
        expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>();
        return round;
      },
      until: ({ result }) => result > 2,
      compensate: ({ lastProgress }) => expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>(),
    })
    .pivot("pay", {
      progress: Cursor,
      act: ({ lastProgress }) => expectTypeOf(lastProgress).toEqualTypeOf<Read | undefined>(),
    })
    .step("mail", { progress: Cursor, ...call });
  // @ts-expect-error a schema is needed, not a value
  saga("copy", nothing).step("files", { progress: { page: 1 }, act: () => 1 });
});

it("[S-45] a transactional step has no progress", () => {
  saga("write", nothing).step("row", {
    transaction,
    act: ({ progress, lastProgress }) => {
      expectTypeOf(lastProgress).toEqualTypeOf<NoProgress>();
      // @ts-expect-error what it has done is rolled back with a failed try
      progress(1);
    },
  });
});

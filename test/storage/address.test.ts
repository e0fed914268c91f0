/** What a caller learns of a server that is not there, or was not named. */
import { Amends, saga, type AmendsError } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { expect, it } from "vitest";
import { z } from "zod";
import { describeOn } from "../support/databases.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });

describeOn("postgres", () => {
  it("[K-12] an unreachable database is named by host and port, never by user or password", async () => {
    const settings = { url: "postgres://ann:hunter2@127.0.0.1:1/shop", callTimeout: "1s" } as const;
    for (const given of [
      postgres(settings),
      postgres({ pool: new pg.Pool({ connectionString: settings.url }) }),
    ]) {
      const amends = new Amends({ database: given, sagas: [order] });
      const error = await amends.start(order, {}).catch((thrown: unknown) => thrown as AmendsError);
      expect(error).toMatchObject({
        code: "DATABASE_UNREACHABLE",
        message: expect.stringContaining("The database at 127.0.0.1:1 could not be reached") as string,
        details: { address: "127.0.0.1:1" },
      });
      expect((error as AmendsError).message).not.toMatch(/ann|hunter2/);
      await amends.close();
    }
  });

  it("[K-12] a URL that is not set is refused at the first use, and not while a build loads the module", async () => {
    for (const database of [
      postgres(""),
      postgres({ url: undefined }),
      postgres({ url: "", connections: 2 }),
    ]) {
      const amends = new Amends({ database, sagas: [order] });
      for (const call of [amends.start(order, {}), amends.worker().start(), amends.migrate()])
        await expect(call).rejects.toMatchObject({
          code: "BAD_OPTION",
          message: expect.stringContaining("is DATABASE_URL set?") as string,
        });
      await amends.close();
    }
    expect(() => postgres({})).toThrow("Give `postgres` a url, a connection or a pool.");
    expect(() => postgres(undefined as never)).toThrow("needs an object");
  });
});

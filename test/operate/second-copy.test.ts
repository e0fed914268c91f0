/** Errors of a second copy of the package in the same process, such as another bundle of it. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { RetryLater, saga, Terminal } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { errorLabel, waitAfter } from "../../src/core/errors.ts";
import { builtPackage } from "../support/built.ts";
import { onDatabase } from "../support/databases.ts";

interface Copy {
  readonly Terminal: typeof Terminal;
  readonly RetryLater: typeof RetryLater;
}

onDatabase("sqlite", (database) => {
  it("[K-15] a `Terminal` of a second copy of the package is terminal, and its `RetryLater` is waited for", async () => {
    const file = path.join(await builtPackage(), "index.js");
    const copy = (await import(pathToFileURL(file).href)) as Copy;
    expect(copy.Terminal).not.toBe(Terminal);
    let calls = 0;
    const act = (): never => {
      calls++;
      throw new copy.Terminal("account-closed");
    };
    const order = saga("order", z.object({})).step("charge", { act });
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    expect(calls).toBe(1);
    const failed = await amends.inspect("o-1");
    expect(failed?.status).toBe("FAILED");
    expect(JSON.stringify(failed?.timeline)).toContain("account-closed");
    const busy = new copy.RetryLater("busy", "busy", { afterMs: 3_600_000 });
    expect([busy instanceof RetryLater, errorLabel(busy), waitAfter(busy, 1_000)]).toEqual([
      false,
      "busy",
      3_600_000,
    ]);
  });
});

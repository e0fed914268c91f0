import { Amends, AmendsError, saga } from "amends";
import { MemorySagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";

const code = (error: unknown): unknown => (error instanceof AmendsError ? error.code : error);
const why = { reason: "the bank is down" };

it("[S-44] a custom storage holds nothing back: each pause is refused, and says so", async () => {
  const order = saga("order", z.object({})).step("ship", { act: () => 1 });
  const amends = new Amends({ storage: new MemorySagaStorage(), sagas: [order] });
  await amends.start(order, {}, { id: "o-1" });
  for (const target of [{ id: "o-1" }, { saga: order }, { call: "send-mail" }]) {
    expect(await amends.pause(target, why).catch(code)).toBe("NOT_SUPPORTED");
    expect(await amends.resume(target, why).catch(code)).toBe("NOT_SUPPORTED");
  }
  expect(await amends.paused().catch(code)).toBe("NOT_SUPPORTED");
  expect(await amends.inspect("o-1")).toMatchObject({ status: "PENDING", paused: undefined });
  await amends.close();
});

import { Amends, saga } from "amends";
import { z } from "zod";
import { MapSagaStorage } from "./map-storage.ts";

const placeOrder = saga("place-order", z.object({ sku: z.string() }))
  .step("reserve", {
    act: ({ input, key }) => ({ reservation: `${input.sku} for ${key}` }),
    compensate: ({ result, key }) => console.log("released", result?.reservation ?? key),
  })
  .step("ship", { act: ({ results }) => `shipped ${results.reserve.reservation}` });

const amends = new Amends({ storage: new MapSagaStorage(), sagas: [placeOrder] });
const worker = amends.worker();
await worker.start();

const run = await amends.start(placeOrder, { sku: "tea" }, { id: "order-1" });
console.log(await run.result());

await worker.stop();

// DBOS Transact: a workflow that starts a child of one step for each of a thousand items, and waits for all of them.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { itemsSide } from "../items.mjs";
import { launch } from "./dbos.mjs";

const child = DBOS.registerWorkflow(() => DBOS.runStep(async () => ({ n: 1 }), { name: "act" }), {
  name: "item",
});

const parent = DBOS.registerWorkflow(
  async (items) => {
    const handles = [];
    for (let n = 0; n < items; n++) handles.push(await DBOS.startWorkflow(child)());
    return Promise.all(handles.map((handle) => handle.getResult()));
  },
  { name: "many" },
);

export async function open({ items, ...options }) {
  await launch(options);
  return itemsSide(items, { one: () => parent(items), close: () => DBOS.shutdown() });
}

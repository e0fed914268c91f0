/** Pictures in the docs are what the code draws: a table that changes changes them, or this fails. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { sagaDiagram } from "amends/sagas";
import { expect, it } from "vitest";
import { placeOrder } from "../../examples/order-process/sagas.ts";
import { Shop } from "../../examples/order-process/shop.ts";
import { breakerMachine } from "../../src/core/breaker.ts";
import { machineDiagram } from "../../src/core/machine.ts";
import { flowMachine } from "../../src/core/flow/machine.ts";
import { sagaMachine } from "../../src/core/saga/machine.ts";
import { readRules, roomDiagram } from "../../tools/doors.mjs";
import { actMachine, undoMachine } from "../../src/core/saga/steps/machine.ts";
import { root } from "../../tools/project.mjs";

const architecture = readFileSync(path.join(root, "docs", "architecture.md"), "utf8");
const pictures = [...architecture.matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)].map(([, picture]) => picture);

it("the architecture page shows the machine of sagas as its table draws it", () => {
  expect(pictures).toContain(machineDiagram(sagaMachine));
});

it("the architecture page shows the machines of a step as their tables draw them", () => {
  expect(pictures).toContain(machineDiagram(actMachine));
  expect(pictures).toContain(machineDiagram(undoMachine));
});

it("the architecture page shows the machine of circuit breakers as its table draws it", () => {
  expect(pictures).toContain(machineDiagram(breakerMachine));
});

it("the architecture page shows the machine of runs over events as its table draws it", () => {
  expect(pictures).toContain(machineDiagram(flowMachine));
});

it("the architecture page shows which room imports which as the import statements say", () => {
  expect(pictures).toContain(`${roomDiagram(root, readRules().table)}\n`);
});

it("[S-31] the guide to sagas shows the order process as its definition is drawn", () => {
  const guide = readFileSync(path.join(root, "docs", "guides", "sagas.md"), "utf8");
  expect(guide).toContain(`\`\`\`mermaid\n${sagaDiagram(placeOrder(new Shop()))}\`\`\`\n`);
});

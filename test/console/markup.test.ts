/** Whatever somebody stored, it leaves as JSON and as nothing else. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Page, SagaDetail, SagaPage } from "../../src/console/contract.ts";
import type { FlowDetail, FlowLine } from "../../src/console/contract-parts.ts";
import { onEachDatabase } from "../support/databases.ts";
import { openFlows } from "./support/flows.ts";
import { program, visit } from "./support/visit.ts";

const CORPUS = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "javascript:alert(1)",
  "</script><svg/onload=alert(1)>",
  "{{constructor.constructor('alert(1)')()}}",
  "${alert(1)}",
  "data: <b>\n\nevent: reset\ndata: {}",
  "\u2028\u2029<iframe srcdoc='<script>alert(1)</script>'>",
  "%3Cscript%3Ealert(1)%3C/script%3E",
  '<a href="jav\tascript:alert(1)">x</a>',
];

const anything = saga("anything", z.unknown(), { compensateRetry: { attempts: 1 } })
  .step("keep", {
    act: ({ input }) => input,
    compensate: () => {
      throw new RangeError("no");
    },
  })
  .step("fail", {
    act: () => {
      throw new TypeError("no");
    },
    retry: { attempts: 1 },
  });

onEachDatabase((database) => {
  it("[X-01] markup in ids, inputs, results, reasons and searches comes back as JSON text, with a type that says so", async () => {
    const amends = await database.amends({ sagas: [anything] });
    for (const [n, text] of CORPUS.entries()) {
      await amends.start(anything, { [text]: text, list: [text] }, { id: `${n}${text}` });
    }
    await amends.worker().runOnce();
    const { as, ask, get, post } = visit(amends);
    const page = await get<SagaPage>("reader", "/api/sagas");
    expect(page.items).toHaveLength(CORPUS.length);
    for (const [n, text] of CORPUS.entries()) {
      const id = `${n}${text}`;
      const path = `/api/sagas/${encodeURIComponent(id)}`;
      const detail = await get<SagaDetail>("reader", path);
      expect(detail.id).toBe(id);
      expect(JSON.stringify([detail.input, detail.results])).not.toContain("alert");
      await as("operator", `${path}/cancel`, { method: "POST", body: { reason: text } });
      await post("operator", `${path}/resolve`, { reason: text, as: "FAILED" });
      await post("revealer", "/api/reveal", { kind: "saga", id, reason: text });
      for (const asked of [
        path,
        `/api/sagas?q=${encodeURIComponent(text)}`,
        `/api/sagas?name=${encodeURIComponent(text.slice(0, 60))}`,
        `/api/sagas?status=${encodeURIComponent(text)}`,
        `/api/sagas?${encodeURIComponent(text)}=1`,
        `/api/audit?target=${encodeURIComponent(id)}`,
        `/api/audit?by=${encodeURIComponent(text)}`,
        `/api/attention?after=${encodeURIComponent(text)}`,
        `/api/${encodeURIComponent(text)}`,
      ]) {
        const response = await as("reader", asked);
        expect([
          asked,
          response.headers.get("content-type"),
          response.headers.get("x-content-type-options"),
        ]).toEqual([asked, "application/json; charset=utf-8", "nosniff"]);
        JSON.parse(await response.text());
      }
      const headers = { ...program("reader"), "last-event-id": "x".repeat(200) };
      const live = await ask(`/api/live?saga=${encodeURIComponent(id)}`, { headers });
      expect(live.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      await live.body?.cancel();
    }
    const audit = await as("reader", "/api/audit");
    expect(await audit.text()).toContain("alert");
  });

  it("[X-01] markup in processes, events and failures of event flows comes back as JSON text, masked where it may be somebody's", async () => {
    const scene = await openFlows(database);
    const { as, get, post } = visit(scene.amends);
    for (const text of CORPUS) {
      const name = `stalled ${text}`;
      const id = await scene.run("stalled", name, text);
      const given = await scene.giveUp(text);
      const detail = await get<FlowDetail>("reader", `/api/flows/${id}`);
      expect(detail.processId).toBe(name);
      expect(JSON.stringify([detail.error, detail.events])).not.toContain("alert");
      await post("operator", `/api/outbox/${given}/resolve`, { reason: text });
      await post("operator", `/api/flows/${id}/resolve`, { reason: text });
      await post("revealer", "/api/reveal", { kind: "event", id: given, reason: text });
      for (const path of [
        "/api/flows",
        `/api/flows/${id}`,
        `/api/flows?q=${encodeURIComponent(name)}`,
        `/api/flows?type=${encodeURIComponent(text.slice(0, 60))}`,
        `/api/flows?after=${encodeURIComponent(text)}`,
        `/api/flows/${encodeURIComponent(text)}`,
        `/api/outbox/${given}`,
        `/api/webhooks/deliveries?event=${encodeURIComponent(text)}`,
        `/api/webhooks/subscriptions?q=${encodeURIComponent(text)}`,
      ]) {
        const response = await as("reader", path);
        const headers = ["content-type", "x-content-type-options"].map((one) => response.headers.get(one));
        expect([path, ...headers]).toEqual([path, "application/json; charset=utf-8", "nosniff"]);
        JSON.parse(await response.text());
      }
    }
    expect((await get<Page<FlowLine>>("reader", "/api/flows")).items).toHaveLength(CORPUS.length);
  });
});

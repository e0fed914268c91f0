/** Every page, at phone and desktop size, in light and dark. */
import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import type { Overview } from "../../src/console/contract.ts";
import { seriousFindings } from "./support/accessibility.ts";
import { PHONE, type Look } from "./support/browser.ts";
import { eventually, expectNoSidewaysScroll, expectRows, inBrowser, visit } from "./support/stage.ts";
import { playSaga } from "./support/saga-world.ts";
import type { Fixture } from "./fixture-server.ts";

/** What each page must say, so that a blank one cannot pass. */
const PAGES: readonly (readonly [hash: string, heading: string, says: string])[] = [
  ["#/", "Overview", "Finished sagas"],
  ["#/attention", "Needs attention", "Abandoned erasure"],
  ["#/sagas", "Sagas", "o-4711"],
  ["#/sagas/o-4711", "place-order Stalled", "BankClosed"],
  ["#/schedules", "Schedules", "nightly-invoices"],
  ["#/schedules/nightly-invoices", "nightly-invoices Active", "run by an operator"],
  ["#/schedules/payouts-acme", "payouts-acme Paused", "The bank has a holiday"],
  ["#/flows", "Event flows", "srn:conv:berlin-26"],
  ["#/flows/f-1", "convention_init Stalled", "FeatureTablesRejected"],
  ["#/outbox", "Outbox", "RateLimited"],
  ["#/outbox/0193-e1", "stripe Abandoned", "user-7"],
  ["#/webhooks", "Webhooks", "order.placed"],
  ["#/webhooks/deliveries/501", "order.placed Dead letter", "HTTP 503"],
  ["#/webhooks/subscriptions", "Webhooks", "warehouse-east"],
  ["#/webhooks/subscriptions/2", "Warehouse partner, east Disabled", "No delivery has succeeded"],
  ["#/erasures", "Erasures", "Overdue"],
  ["#/erasures/user-7", "Data subject", "Erasure local completed"],
  ["#/audit", "Audit", "The bank is open again"],
  ["#/audit/subjects", "Audit", "Erasure requeued"],
];

/** axe looks at both sizes and both themes once each: colours do not depend on the size, nor the layout on the theme. */
const LOOKS: readonly (readonly [name: string, look: Look, axe: boolean])[] = [
  ["desktop, light", {}, true],
  ["desktop, dark", { scheme: "dark" }, false],
  ["phone, light", PHONE, false],
  ["phone, dark", { ...PHONE, scheme: "dark" }, true],
];

inBrowser("pages", (stage) => {
  let busy: Promise<Fixture> | undefined;
  let few: Promise<Fixture> | undefined;
  const small = (): Promise<Fixture> => (few ??= stage.fixture({ few: true }));
  const world = (): Promise<Fixture> => (busy ??= stage.fixture());

  for (const [name, look, axe] of LOOKS) {
    it(`[P-04] every page is whole${axe ? " and accessible" : ""}: ${name}`, async () => {
      const fixture = await small();
      const { page, troubles } = await stage.tab(look);
      for (const [hash, heading, says] of PAGES) {
        await visit(page, fixture, hash);
        expect.soft((await page.locator("h1").innerText()).replaceAll(/\s+/gu, " "), hash).toBe(heading);
        expect.soft(await page.locator("main").innerText(), hash).toContain(says);
        await expectNoSidewaysScroll(page);
        expect.soft(axe ? await seriousFindings(page) : [], hash).toEqual([]);
      }
      expect(troubles).toEqual([]);
      await page.close();
    });
  }

  it("[P-04] where there is nothing, each page says what would be there and how it gets there", async () => {
    const fixture = await stage.fixture({ kind: "empty" });
    const { page, troubles } = await stage.tab();
    const teaches: readonly (readonly [string, string])[] = [
      ["#/", "All clear"],
      ["#/attention", "All clear"],
      ["#/sagas", "amends.start(placeOrder"],
      ["#/schedules", "amends.schedules.put("],
      ["#/flows", "eventSaga("],
      ["#/outbox", "erasure.eraseSubject("],
      ["#/webhooks", "webhooks.publish({"],
      ["#/webhooks/subscriptions", "webhooks.subscribe("],
      ["#/erasures", "erasure: { dataMap"],
      ["#/audit", "No operator actions yet"],
    ];
    for (const [hash, text] of teaches) {
      await visit(page, fixture, hash);
      expect.soft(await page.locator("main").innerText(), hash).toContain(text);
      expect.soft(await seriousFindings(page), hash).toEqual([]);
    }
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] the list of sagas shows the state of each step, and the last error", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas");
    const row = page.locator("tbody tr", { hasText: "o-4711" });
    const segments = row.locator(".strip i");
    const states: (string | null)[] = [];
    for (const segment of await segments.all()) states.push(await segment.getAttribute("data-state"));
    expect(states).toEqual(["undone", "undo-failed", "failed", "none"]);
    expect(await row.innerText()).toContain("BankClosed");
    await row.locator(".strip").hover();
    expect(await page.locator(".tip").innerText()).toContain("charge: undo failed");
    await page.close();
  });

  it("[P-04] the picture of a run shows the way back, and the time axis what happened when", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    const state = (node: string): Promise<string | null> =>
      page.locator(`[data-node="${node}"]`).getAttribute("data-state");
    expect(await state("act:reserve")).toBe("done");
    expect(await state("act:ship")).toBe("failed");
    expect(await state("undo:charge")).toBe("failed");
    expect(await state("undo:reserve")).toBe("done");
    expect(await page.locator('.edge[data-kind="turn"][data-taken="true"]').count()).toBe(1);
    const lanes = await page.locator(".lane-name").allInnerTexts();
    expect(lanes).toEqual([
      "reserve",
      "charge",
      "ship",
      "undo charge",
      "undo reserve",
      "System and operator",
    ]);
    await page.getByRole("button", { name: "Event log" }).click();
    expect(await page.locator(".event-log").innerText()).toContain("rollback started at ship");
    await page.close();
  });

  it("[P-04] texts of the graph stay inside their boxes, however long the names are", async () => {
    const fixture = await stage.fixture();
    const steps = [
      "a-step-whose-name-is-much-longer-than-its-box-could-ever-be",
      "WWWWWWWWWWWWWWWWWWWWWW",
      "ship",
    ];
    const long = playSaga({
      id: "long",
      name: "long",
      ending: "STALLED",
      startMs: Date.now(),
      input: {},
      steps,
    });
    fixture.world.sagas.set("long", long);
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/long");
    const over = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll(".run-graph .node")].flatMap((node) => {
      const box = node.querySelector("rect").getBoundingClientRect();
      return [...node.querySelectorAll("text")].filter((text) => {
        const { left, right } = text.getBoundingClientRect();
        return left < box.left || right > box.right;
      }).map((text) => text.textContent);
    })`);
    expect(over).toEqual([]);
    expect(await page.locator(".node-label", { hasText: "…" }).count()).toBeGreaterThan(0);
    await page.locator(".lane-name").first().hover();
    expect(await page.locator(".tip").innerText()).toBe(steps[0]);
    await page.close();
  });

  it("[P-04] an event of a flow without a subscriber is not pending, and a blocked erasure is not just open", async () => {
    const fixture = await stage.fixture();
    const flow = fixture.world.flows.get("f-c0");
    if (!flow) throw new Error("The world has no completed flow.");
    const [first] = flow.events;
    if (!first) throw new Error("The flow has no events.");
    const last = { ...first, id: "last", name: "ShelfFilled", handler: null, status: "pending" } as const;
    fixture.world.flows.set("f-c0", { ...flow, events: [...flow.events, last] });
    const { page } = await stage.tab();
    await visit(page, fixture, "#/flows/f-c0");
    const row = page.locator(".trail-row", { hasText: "ShelfFilled" });
    expect(await row.innerText()).toContain("No subscriber");
    expect(await row.innerText()).not.toContain("Pending");
    const blocked = fixture.world.erasures.map((line) =>
      line.subjectId === "user-7" ? { ...line, abandoned: 1 } : line,
    );
    fixture.world.erasures.splice(0, blocked.length, ...blocked);
    await visit(page, fixture, "#/erasures");
    expect(await page.locator("tbody tr", { hasText: "user-7" }).innerText()).toContain("Blocked");
    await page.close();
  });

  it("[S-45][P-04] a saga that reports its progress shows it as it comes, and its texts when they are revealed", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const saga = fixture.world.sagas.get("on-7039");
    if (!saga) throw new Error("The world has no on-7039.");
    await visit(page, fixture, "#/sagas/on-7039");
    const card = page.getByRole("region", { name: "Progress" });
    expect(await card.innerText()).toMatch(/1,240 of 4,000[\s\S]*file[\s\S]*text/);
    const [line] = saga.detail.progress;
    if (!line) throw new Error("on-7039 reports nothing.");
    const value = { masked: true, shape: { done: 3_000, total: 4_000 } } as const;
    fixture.world.sagas.set("on-7039", {
      ...saga,
      detail: { ...saga.detail, progress: [{ ...line, value }] },
    });
    fixture.tell({ watched: [{ id: "on-7039", revision: saga.detail.revision }] });
    await eventually(() => card.innerText()).toContain("3,000 of 4,000");
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByLabel("Reason").fill("ticket 12");
    await page.getByRole("dialog").getByRole("button", { name: "Reveal" }).click();
    await eventually(() => card.innerText()).toContain("export-on-7039.csv");
    await page.close();
  });

  it("[P-04] a saga says what it waits for, that its call still runs, or that no worker takes it", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const running = fixture.world.sagas.get("on-7039");
    if (!running) throw new Error("The world has no on-7039.");
    const show = async (id: string, change: Partial<typeof running.detail>): Promise<string> => {
      fixture.world.sagas.set(id, { ...running, detail: { ...running.detail, ...change, id } });
      await visit(page, fixture, `#/sagas/${id}`);
      return page.locator("main").innerText();
    };
    const step = running.detail.graph.nodes.find(({ state }) => state === "running")?.step ?? "";
    const [past, future] = [-86_400_000, 2.5 * 86_400_000].map((ms) =>
      new Date(Date.now() + ms).toISOString(),
    );
    const waiting = {
      step,
      kind: "signal",
      for: "approved",
      since: past ?? "",
      until: future ?? "",
    } as const;
    const waits = await show("waits", { waiting, owner: null, dueAt: future ?? "" });
    expect(waits).toMatch(/Waits for\s+signal approved/u);
    expect(waits).toMatch(/Waits until\s+in 2 d/u);
    expect(await page.locator(`[data-node="act:${step}"] .node-note`).innerHTML()).toContain("waiting");
    expect(waits).not.toContain("No worker");
    const runs = await show("runs", { running: { step, since: past ?? "" } });
    expect(runs).toContain("A call has not returned");
    await page.locator('main [data-action="cancel"]').click();
    expect(await page.locator("dialog[open]").innerText()).toContain("it may still take effect");
    const alone = await show("alone", { status: "PENDING", owner: null, dueAt: past ?? "" });
    expect(alone).toContain("No worker has taken it for 1 d");
    expect(alone).toContain(`has the saga ${running.detail.saga}, version 1`);
    expect(alone).toMatch(/Next run\s+1 d overdue/u);
    const heldBy = [{ kind: "concurrency", limit: 2, used: 2, until: null }] as const;
    const held = await show("held", { status: "PENDING", owner: null, dueAt: past ?? "", heldBy });
    expect(held).toMatch(/Waits for\s+its limit/u);
    expect(held).toContain("2 sagas of its key run, and 2 may run at the same time.");
    expect(held).toMatch(/Due since\s+1 d ago/u);
    expect(held).not.toContain("No worker");
    await page.route(/api\/overview\?/u, async (route) => {
      const response = await route.fetch();
      const overview = (await response.json()) as Overview;
      const backlog = { due: { value: 2, exact: true }, oldestMs: 20_000 };
      await route.fulfill({ response, json: { ...overview, backlog, workers: 0, runMsAgo: null } });
    });
    await visit(page, fixture, "#/");
    const tile = page.locator(".tile", { hasText: "Oldest overdue item" });
    expect([await tile.innerText(), await tile.getAttribute("data-tone")]).toEqual([
      expect.stringContaining("2 due now, no worker runs"),
      "copper",
    ]);
    await page.close();
  });

  it("[S-39][P-04] a saga that was started for later says when it runs, with its priority and its attributes", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    const later = [...fixture.world.sagas.values()].find(({ detail }) => detail.isScheduled)?.detail;
    if (!later) throw new Error("No saga of the world is scheduled.");
    fixture.world.sagas.set(later.id, {
      secret: {},
      detail: { ...later, attributes: { tenant: "acme", vip: true } },
    });
    await visit(page, fixture, "#/sagas?status=PENDING");
    const row = page.locator("tbody tr", { hasText: later.id });
    expect(await row.innerText()).toMatch(/Scheduled[^]*in (?:2 h|1 h)/u);
    expect(await row.locator(".tag-list").innerText()).toMatch(/tenant\s+acme\s+vip\s+true/u);
    await row.locator("a[data-row]").click();
    await page.locator("h1 .state", { hasText: "Scheduled" }).waitFor();
    const facts = await page.getByRole("region", { name: "Facts" }).innerText();
    expect(facts).toMatch(/Scheduled for\s+in (?:2 h|1 h)/u);
    expect(facts).toMatch(/Priority\s+5/u);
    expect(facts).toMatch(/Attributes\s+tenant\s+acme/u);
    expect(await page.locator("main").innerText()).not.toContain("No worker has taken it");
    await page.close();
  });

  it("[S-42][P-04] a tag leads to the sagas with the same attribute, an error to those with the same error, and both can be taken back", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas");
    await page.locator(".tag-list a", { hasText: "globex" }).first().click();
    const rows = page.locator("tbody tr");
    await eventually(async () => (await rows.allInnerTexts()).every((row) => row.includes("globex"))).toBe(
      true,
    );
    expect(page.url()).toContain("attributes=tenant%3Dglobex");
    await page.getByRole("button", { name: "Remove the filter Attributes: tenant=globex" }).click();
    await eventually(() => page.locator("tbody").innerText()).toContain("o-4711");
    await visit(page, fixture, "#/sagas/o-4711");
    await page.getByRole("link", { name: "All sagas with BankClosed" }).click();
    await eventually(async () =>
      (await rows.allInnerTexts()).every((row) => row.includes("BankClosed")),
    ).toBe(true);
    await page.getByRole("button", { name: "Remove the filter Error: BankClosed" }).waitFor();
    await page.close();
  });

  it("[P-04][K-16] a failed saga says where messages are found only if an error had one, and an outbox without open entries says so", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const running = fixture.world.sagas.get("on-7039");
    if (!running) throw new Error("The world has no on-7039.");
    const show = async (kind: string, label: string): Promise<string> => {
      const detail = { ...running.detail, id: kind, status: "FAILED", error: { kind, label } } as const;
      fixture.world.sagas.set(kind, { ...running, detail });
      await visit(page, fixture, `#/sagas/${kind}`);
      return page.locator('[aria-label="Error"]').innerText();
    };
    const thrown = await show("exhausted", "TypeError");
    expect(thrown).toContain("Rolled back");
    expect(thrown).toContain("To see messages, set keepMessages, or log them in a middleware.");
    expect(thrown).not.toContain("worker’s log");
    for (const [kind, label] of [
      ["err", "card-declined"],
      ["deadline", "DeadlinePassed"],
      ["cancelled", "Cancelled"],
    ] as const)
      expect(await show(kind, label)).not.toContain("keepMessages");
    fixture.world.outbox.clear();
    await visit(page, fixture, "#/");
    const meters = page.locator('[aria-label="Work by part"]');
    expect(await meters.innerText()).toContain("Nothing open");
    expect(await meters.innerText()).not.toContain("None yet");
    await page.close();
  });

  it("[P-04] a run of four steps is seen whole on a small desktop, and a longer one opens at the step that failed", async () => {
    const fixture = await stage.fixture();
    const steps = Array.from({ length: 12 }, (_, index) => `step-${index + 1}`);
    const long = playSaga({
      id: "long",
      name: "long",
      ending: "STALLED",
      startMs: Date.now(),
      input: {},
      steps,
    });
    const nodes = long.detail.graph.nodes.map((node) =>
      node.id === "act:step-11" ? { ...node, state: "failed" as const } : { ...node, state: "done" as const },
    );
    const graph = { ...long.detail.graph, nodes };
    fixture.world.sagas.set("long", { ...long, detail: { ...long.detail, graph } });
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    const [frame, end] = [page.locator(".run-graph"), page.locator('[data-node="completed"]')];
    const right = async (what: Locator): Promise<number> => {
      const box = await what.boundingBox();
      return (box?.x ?? Number.NaN) + (box?.width ?? 0);
    };
    expect(await right(end)).toBeLessThanOrEqual(await right(frame));
    await visit(page, fixture, "#/sagas/long");
    await eventually(async () => right(page.locator('[data-node="act:step-11"]'))).toBeLessThanOrEqual(
      await right(frame),
    );
    await page.close();
  });

  it("[P-04] pending entries are those that wait; events without a subscriber have a filter of their own", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/outbox");
    await page.getByRole("button", { name: /^Pending/u }).click();
    await expectRows(page, 1);
    expect(await page.locator("tbody").innerText()).toContain("search-index");
    await page.getByRole("button", { name: "No subscriber" }).click();
    await eventually(() => page.locator("tbody").innerText()).toContain("ShelfFilled");
    await expectRows(page, 1);
    await page.close();
  });

  it("[P-04] a delivery is told from others by its event, and a system of an erasure by when it is verified, the helping action first", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/webhooks");
    const [letter] = fixture.world.deliveries.values();
    expect(await page.locator("tbody tr").first().innerText()).toContain(letter?.eventId);
    await visit(page, fixture, "#/erasures/user-7");
    const systems = page.getByRole("region", { name: "Systems" });
    expect(await systems.locator("li", { hasText: "backups" }).innerText()).toContain("verified in 8 d");
    const buttons = systems.locator("li", { hasText: "stripe" }).locator("[data-action]");
    expect(await buttons.first().innerText()).toBe("Requeue");
    const [first, second] = await Promise.all([0, 1].map((index) => buttons.nth(index).boundingBox()));
    expect(first?.y).toBeLessThan(second?.y ?? Number.NaN);
    await page.close();
  });

  it("[P-04] on a phone the whole width of the picture is seen, the way back beside the way forward", async () => {
    const fixture = await world();
    const { page } = await stage.tab(PHONE);
    await visit(page, fixture, "#/sagas/o-4711");
    const over =
      "(() => { const { scrollWidth, clientWidth } = document.querySelector('.run-graph'); return scrollWidth - clientWidth; })()";
    await eventually(() => page.evaluate<number>(over)).toBeLessThanOrEqual(0);
    const [act, undo] = await Promise.all(
      ["act:charge", "undo:charge"].map((node) => page.locator(`[data-node="${node}"]`).boundingBox()),
    );
    expect(undo?.x).toBeGreaterThan(act?.x ?? Number.NaN);
    await page.close();
  });

  it("[P-04] a time is shown relative, exactly on hover, by a tap and on focus, and exactly everywhere in local time or UTC", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    const time = page.locator(".facts time").first();
    expect(await time.innerText()).toMatch(/ago$|just now/u);
    await time.hover();
    const exact = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC/u;
    expect(await page.locator(".tip").innerText()).toMatch(exact);
    await page.locator("h1").hover();
    await eventually(() => page.locator(".tip").count()).toBe(0);
    await page.locator(".card-head .btn").last().focus();
    for (let stops = 0; stops < 30 && (await page.locator("time:focus").count()) === 0; stops += 1)
      await page.keyboard.press("Shift+Tab");
    expect(await page.locator("time:focus").count()).toBe(1);
    expect(await page.locator(".tip").innerText()).toMatch(exact);
    await page.keyboard.press("z");
    await page.keyboard.press("z");
    const iso = await time.getAttribute("datetime");
    expect(await time.innerText()).toBe(iso?.slice(11, 19));
    expect(await page.locator(".rail [data-testid=times]").innerText()).toBe("UTC");
    await page.reload();
    expect(await page.locator(".facts time").first().innerText()).toBe(iso?.slice(11, 19));
    await page.evaluate("localStorage.clear()");
    await page.close();
  });

  it("[P-04] the search, the filters and the cursor narrow and widen the list, and live in the address", async () => {
    const fixture = await world();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas");
    await expectRows(page, 40);
    await page.getByRole("button", { name: "Show more" }).click();
    await expectRows(page, 80);
    await page.getByRole("searchbox").fill("o-47");
    await expectRows(page, 1);
    expect(new URL(page.url()).hash).toBe("#/sagas?q=o-47");
    await page.getByRole("searchbox").fill("");
    await page.getByRole("button", { name: /^Compensating/u }).click();
    await expectRows(page, 2);
    expect(new URL(page.url()).hash).toBe("#/sagas?status=COMPENSATING");
    await page.getByRole("searchbox").fill("nothing like it");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await expectRows(page, 40);
    await page.close();
  });

  it("[P-04] what does not exist, and what cannot be loaded, is said", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/nobody");
    expect(await page.locator("main").innerText()).toContain("Not found");
    await visit(page, fixture, "#/no/such/page");
    expect(await page.locator("main").innerText()).toContain("No page at this address");
    fixture.fail(500);
    await page.goto(`${fixture.url}#/outbox`);
    await page.getByText("The database is away.").waitFor();
    fixture.fail(undefined);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("tbody tr").first().waitFor();
    await page.close();
  });
});

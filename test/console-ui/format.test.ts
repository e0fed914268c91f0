/** The pure parts of the console's pages: words, the time axis, the picture. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layoutGraph, type GraphLayout } from "../../console-ui/src/parts/graph-layout.ts";
import { graphOf } from "../../src/console/sagas/graph.ts";
import { axisTicks, scaleOf, timelineModel } from "../../console-ui/src/parts/time-axis.ts";
import {
  formatAgo,
  formatCount,
  formatInstant,
  formatDuration,
  formatPlanned,
  formatAttempts,
} from "../../console-ui/src/store/format.ts";
import { playSaga } from "./support/saga-world.ts";

describe("words", () => {
  it("[P-04] spans, counts and instants read as people say them", () => {
    expect([0, 7, 999, 1_000, 4_210, 61_000, 3_600_000, 97_200_000].map(formatDuration)).toEqual([
      "0 ms",
      "7 ms",
      "999 ms",
      "1.0 s",
      "4.2 s",
      "1 m 1 s",
      "1 h",
      "1 d 3 h",
    ]);
    expect([0, 9_999, 48_213, 2_000_000].map(formatCount)).toEqual(["0", "9,999", "48.2K", "2M"]);
    expect([formatAttempts(1), formatAttempts(2)]).toEqual(["1 attempt", "2 attempts"]);
    expect(formatAgo(1_000, 91_000)).toBe("1 m ago");
    expect(formatAgo(91_000, 1_000)).toBe("in 1 m");
    // The clocks of two machines differ: what has happened is never "in a moment".
    expect([formatAgo(1_000, 2_500), formatAgo(2_500, 1_000)]).toEqual(["just now", "just now"]);
    expect([1_000, 90_000, 181_000].map((atMs) => formatPlanned(atMs, 91_000))).toEqual([
      "1 m overdue",
      "now",
      "in 1 m",
    ]);
    expect(formatInstant(Number.NaN)).toBe("invalid time");
  });
});

describe("time axis", () => {
  const startMs = Date.UTC(2026, 0, 1);
  const at = (ms: number): string => new Date(startMs + ms).toISOString();
  const line = (ms: number, name: string, status: "STARTED" | "COMPLETED" | "FAILED") => ({
    at: at(ms),
    name,
    kind: "step" as const,
    action: "act" as const,
    status,
    note: null,
    by: null,
    step: null,
  });

  it("[P-04] a wait of three days does not hide what took milliseconds", () => {
    const story = timelineModel(
      [
        line(0, "one", "STARTED"),
        line(40, "one", "COMPLETED"),
        line(259_200_040, "two", "STARTED"),
        line(259_200_080, "two", "COMPLETED"),
      ],
      at(0),
    );
    const scale = scaleOf(story, 0);
    expect(scale.pieces.map(({ cut }) => cut)).toEqual([false, true, false]);
    expect(scale.at(startMs + 40) - scale.at(startMs)).toBeGreaterThan(0.3);
  });

  it("[P-04] a step that began twice was lost the first time, and the last one runs", () => {
    const { lanes, running } = timelineModel([line(0, "one", "STARTED"), line(90, "one", "STARTED")], at(0));
    expect(lanes[0]?.bars.map(({ status, toMs }) => [status, toMs === undefined])).toEqual([
      ["FAILED", false],
      ["STARTED", true],
    ]);
    expect(running).toBe(true);
  });

  it("[P-04] later is never further left, and everything lies on the axis", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 400_000_000 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(gaps, (steps) => {
        let ms = 0;
        const lines = steps.flatMap((gap, index) => {
          ms += gap;
          const begun = line(ms, `s${index}`, "STARTED");
          ms += gap % 977;
          return [begun, line(ms, `s${index}`, "COMPLETED")];
        });
        const story = timelineModel(lines, at(0));
        const scale = scaleOf(story, 0);
        const places = lines.map((one) => scale.at(Date.parse(one.at)));
        expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
        expect(places).toEqual(places.toSorted((one, other) => one - other));
        expect(axisTicks(scale, story.fromMs, 6).length).toBeLessThanOrEqual(60);
      }),
    );
  });
});

describe("picture", () => {
  const { graph } = playSaga({
    id: "p",
    name: "onboard-tenant",
    ending: "STALLED",
    startMs: 0,
    input: {},
  }).detail;

  it("[P-04] each undo stands beside its act, and nothing lies upon anything else", () => {
    for (const direction of ["across", "down"] as const) {
      const { boxes, lines, width, height } = layoutGraph(graph, direction);
      expect(boxes).toHaveLength(graph.nodes.length);
      expect(lines).toHaveLength(graph.edges.length);
      const box = (id: string) => boxes.find(({ node }) => node.id === id) ?? boxes[0];
      const [act, undo] = [box("act:seed-data"), box("undo:create-account")];
      const side = direction === "across" ? "x" : "y";
      expect(box("undo:create-account")?.[side]).toBe(box("act:create-account")?.[side]);
      expect(act?.[side]).not.toBe(undo?.[side]);
      expectApart({ boxes, width, height });
    }
  });

  it("[S-24][P-04] acts of a group stand beside each other, and so do their undos", () => {
    const step = { undo: true, pivot: false, undoOnErr: false, atomic: false };
    const member = { ...step, group: { name: "bookings" } };
    const plan = [
      { ...step, name: "quote" },
      ...["flight", "hotel", "car"].map((name) => ({ ...member, name })),
      { ...step, name: "mail" },
    ];
    const together = graphOf({ plan, timeline: [], status: "RUNNING" });
    for (const direction of ["across", "down"] as const) {
      const picture = layoutGraph(together, direction);
      expectApart(picture);
      const side = direction === "across" ? "x" : "y";
      const places = ["act:flight", "act:hotel", "act:car", "undo:flight", "undo:hotel", "undo:car"].map(
        (id) => picture.boxes.find(({ node }) => node.id === id)?.[side],
      );
      expect(new Set(places).size).toBe(1);
      const other = side === "x" ? "y" : "x";
      const order = ["act:flight", "act:hotel", "act:car"].map(
        (id) => picture.boxes.find(({ node }) => node.id === id)?.[other] as number,
      );
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
  });
});

/** Nothing lies upon anything else, or outside. */
function expectApart({ boxes, width, height }: Pick<GraphLayout, "boxes" | "width" | "height">): void {
  for (const [index, one] of boxes.entries()) {
    expect(one.x).toBeGreaterThanOrEqual(0);
    expect(one.x + one.width).toBeLessThanOrEqual(width);
    expect(one.y + one.height).toBeLessThanOrEqual(height);
    for (const other of boxes.slice(index + 1)) {
      const apart =
        one.x + one.width <= other.x ||
        other.x + other.width <= one.x ||
        one.y + one.height <= other.y ||
        other.y + other.height <= one.y;
      expect(apart, `${one.node.id} and ${other.node.id}`).toBe(true);
    }
  }
}

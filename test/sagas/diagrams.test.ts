import { err, saga, type SagaView } from "amends";
import { defineCall } from "amends/calls";
import { runDiagram, sagaDiagram } from "amends/sagas";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";

const nothing = z.object({});
const act = (): number => 1;

const order = saga("place-order", nothing)
  .step("reserve", { act, compensate: act })
  .step("check", { act })
  .step("charge", { act, compensate: act })
  .pivot("ship", { act })
  .step("email", { act });

onEachDatabase((database) => {
  it("[S-31] the sequence diagram of a definition shows every step, the pivot and the way back", () => {
    expect(sagaDiagram(order)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as place-order
        participant P0 as reserve
        participant P1 as check
        participant P2 as charge
        participant P3 as ship
        participant P4 as email
        S->>P0: act reserve
        S->>P1: act check
        S->>P2: act charge
        S->>P3: act ship
        Note over S,P3: pivot, from here only forward
        S->>P4: act email
        alt a step fails before the pivot
          S->>P2: undo charge
          S->>P0: undo reserve
        end
      "
    `);
    expect(sagaDiagram(order, "sequence")).toBe(sagaDiagram(order));
  });

  it("[S-31] the state diagram of a definition shows every way that the saga can go", () => {
    expect(sagaDiagram(order, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        [*] --> act_0
        act_0: reserve
        act_0 --> act_1
        act_0 --> undo_0: fails
        act_1: check
        act_1 --> act_2
        act_1 --> undo_0: fails
        act_2: charge
        act_2 --> act_3
        act_2 --> undo_2: fails
        act_3: ship (pivot)
        act_3 --> act_4
        act_3 --> undo_2: fails
        act_4: email
        act_4 --> COMPLETED
        act_4 --> STALLED: fails
        undo_0: undo reserve
        undo_0 --> FAILED
        undo_0 --> STALLED: tries used up
        undo_2: undo charge
        undo_2 --> undo_0
        undo_2 --> STALLED: tries used up
        COMPLETED --> [*]
        FAILED --> [*]
      "
    `);
  });

  it("[S-31] without anything to undo there is no way back to show", () => {
    const plain = saga("plain", nothing).step("only", { act });
    expect(sagaDiagram(plain)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as plain
        participant P0 as only
        S->>P0: act only
      "
    `);
    expect(sagaDiagram(plain, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        [*] --> act_0
        act_0: only
        act_0 --> COMPLETED
        act_0 --> FAILED: fails
        COMPLETED --> [*]
        FAILED --> [*]
      "
    `);
  });

  it("[S-26][S-31][S-33][S-34][S-35][S-46] the diagrams of a definition show lists, branches, rounds, children and ends", () => {
    const mail = defineCall("mail", { schema: nothing, handle: act });
    const byCall = { call: mail, input: () => ({}) };
    const parts = saga("parts", nothing)
      .each("reserve", { over: () => [1], key: String, act, compensate: act, concurrency: 5 })
      .when(
        "large",
        () => true,
        (yes) =>
          yes.step("approve", { act, compensate: act }).when(
            "dear",
            () => true,
            (dear) => dear.step("insure", { act, compensate: act }),
          ),
        (no) => no.step("pass", { act }),
      )
      .repeat("remind", { act, until: () => true, every: "3d", max: 5 })
      .saga("ship", saga("ship-order", nothing).step("label", { act }), { input: () => ({}) })
      .onCompleted(byCall)
      .onFailed(byCall);
    expect(sagaDiagram(parts)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as parts
        participant P0 as reserve
        participant P2 as approve
        participant P4 as insure
        participant P5 as pass
        participant P6 as remind
        participant P7 as ship
        loop each item, at most 5 at once
          S->>P0: act reserve
        end
        alt large
          S->>P2: act approve
          opt dear
            S->>P4: act insure
          end
        else not large
          S->>P5: act pass
        end
        loop every 3d, at most 5 times
          S->>P6: act remind
        end
        S->>P7: start saga ship-order
        P7-->>S: its end
        S->>S: onCompleted
        alt a step fails
          S->>P7: undo ship
          S->>P4: undo insure
          S->>P2: undo approve
          S->>P0: undo reserve
          S->>S: onFailed
        end
      "
    `);
    expect(sagaDiagram(parts, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        [*] --> act_0
        act_0: reserve, each item, at most 5 at once
        act_0 --> act_1
        act_0 --> undo_0: fails
        act_1: large?
        act_1 --> act_2: yes
        act_1 --> act_5: no
        act_1 --> undo_0: fails
        act_2: approve
        act_2 --> act_3
        act_2 --> undo_2: fails
        act_3: dear?
        act_3 --> act_4: yes
        act_3 --> act_6: no
        act_3 --> undo_2: fails
        act_4: insure
        act_4 --> act_6
        act_4 --> undo_4: fails
        act_5: pass
        act_5 --> act_6
        act_5 --> undo_0: fails
        act_6: remind, every 3d, at most 5 times
        act_6 --> act_7
        act_6 --> undo_0: fails
        act_6 --> undo_4: fails
        act_6 --> undo_2: fails
        act_7: ship, saga ship-order
        act_7 --> act_8
        act_7 --> undo_7: fails
        act_8: onCompleted
        act_8 --> COMPLETED
        act_8 --> STALLED: tries used up
        undo_0: undo reserve
        undo_0 --> undo_9
        undo_0 --> STALLED: tries used up
        undo_2: undo approve
        undo_2 --> undo_0
        undo_2 --> STALLED: tries used up
        undo_4: undo insure
        undo_4 --> undo_2
        undo_4 --> STALLED: tries used up
        undo_7: undo ship
        undo_7 --> undo_0
        undo_7 --> undo_4
        undo_7 --> undo_2
        undo_7 --> STALLED: tries used up
        undo_9: onFailed
        undo_9 --> FAILED
        undo_9 --> STALLED: tries used up
        COMPLETED --> [*]
        FAILED --> [*]
      "
    `);
  });

  it("[S-20][S-31] the diagrams of a definition show what is done instead, and that only one of the two is undone", () => {
    const branching = saga("order", nothing)
      .step("reserve", { act, compensate: act })
      .step("charge", { act, compensate: act, fallback: { name: "invoice", act, compensate: act } })
      .pivot("ship", { act, fallback: { name: "fly", act } });
    expect(sagaDiagram(branching)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as order
        participant P0 as reserve
        participant P1 as charge
        participant P2 as invoice
        participant P3 as ship
        participant P4 as fly
        S->>P0: act reserve
        S->>P1: act charge
        opt charge fails, fallback
          S->>P1: undo charge
          S->>P2: act invoice
        end
        S->>P3: act ship
        Note over S,P3: pivot, from here only forward
        opt ship fails, fallback
          S->>P4: act fly
        end
        alt a step fails before the pivot
          S->>P2: undo invoice
          S->>P1: undo charge
          S->>P0: undo reserve
        end
      "
    `);
    expect(sagaDiagram(branching, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        [*] --> act_0
        act_0: reserve
        act_0 --> act_1
        act_0 --> undo_0: fails
        act_1: charge
        act_1 --> act_3
        act_1 --> act_2: fails, fallback
        act_1 --> undo_1: fails
        act_2: invoice
        act_2 --> act_3
        act_2 --> undo_2: fails
        act_3: ship (pivot)
        act_3 --> COMPLETED
        act_3 --> act_4: fails, fallback
        act_3 --> undo_2: fails
        act_3 --> undo_1: fails
        act_4: fly (pivot)
        act_4 --> COMPLETED
        act_4 --> undo_2: fails
        act_4 --> undo_1: fails
        undo_0: undo reserve
        undo_0 --> FAILED
        undo_0 --> STALLED: tries used up
        undo_1: undo charge
        undo_1 --> act_2: fallback
        undo_1 --> undo_0
        undo_1 --> STALLED: tries used up
        undo_2: undo invoice
        undo_2 --> undo_0
        undo_2 --> STALLED: tries used up
        COMPLETED --> [*]
        FAILED --> [*]
      "
    `);
  });

  it("[S-20][S-31] the diagram of a run shows which of the two was done", async () => {
    const branching = saga("order", nothing, { retry: { attempts: 1 } }).step("charge", {
      act: () => Promise.reject(new TypeError("busy")),
      compensate: act,
      fallback: { name: "invoice", act },
    });
    const amends = await database.amends({ sagas: [branching] });
    await database.worker(amends);
    const run = await amends.start(branching, {});
    await run.result();
    const view = (await amends.inspect(run.id)) as SagaView;
    expect(runDiagram(view)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as order
        participant P0 as charge
        participant P1 as invoice
        S->>P0: act charge
        P0--xS: act failed, TypeError, invoice instead
        S->>P0: undo charge
        P0-->>S: undo done
        S->>P1: act invoice
        P1-->>S: act done
        Note over S: COMPLETED
      "
    `);
    expect(runDiagram(view, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        s0: act charge failed
        [*] --> s0
        s1: undo charge done
        s0 --> s1
        s2: act invoice done
        s1 --> s2
        s2 --> COMPLETED
        COMPLETED --> [*]
      "
    `);
  });

  it("[S-31] the diagram of a run shows what happened, in its order", async () => {
    const failing = saga("place-order", nothing, { retry: { base: "1ms" } })
      .step("reserve", { act, compensate: act })
      .step("charge", {
        act: ({ attempt }) => {
          if (attempt === 1) throw new TypeError("busy");
          return err("card-declined");
        },
        compensate: act,
      });
    const amends = await database.amends({ sagas: [failing] });
    await database.worker(amends);
    const run = await amends.start(failing, {});
    await run.result();
    const view = (await amends.inspect(run.id)) as SagaView;
    expect(runDiagram(view)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as place-order
        participant P0 as reserve
        participant P1 as charge
        S->>P0: act reserve
        P0-->>S: act done
        S->>P1: act charge
        P1--xS: act failed, TypeError
        S->>P1: act charge
        P1--xS: act failed, card-declined
        S->>P1: undo charge
        P1-->>S: undo done
        S->>P0: undo reserve
        P0-->>S: undo done
        Note over S: FAILED
      "
    `);
    expect(runDiagram(view, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        s0: act reserve done
        [*] --> s0
        s1: act charge failed
        s0 --> s1
        s2: act charge failed
        s1 --> s2
        s3: undo charge done
        s2 --> s3
        s4: undo reserve done
        s3 --> s4
        s4 --> FAILED
        FAILED --> [*]
      "
    `);
    expect(runDiagram((await amends.inspect(run.id)) as SagaView)).toBe(runDiagram(view));
  });

  it("[S-31] what people wrote cannot break the diagram out of its text", async () => {
    const waiting = saga("waiting", nothing).step("only", { act });
    const amends = await database.amends({ sagas: [waiting] });
    const { id } = await amends.start(waiting, {});
    const view = await amends.cancel(id, {
      reason: "no;\nNote over S: #forged\r\nend %%{init: {}}%%",
      by: "ann;bo",
    });
    expect(runDiagram(view)).toMatchInlineSnapshot(`
      "sequenceDiagram
        participant S as waiting
        participant P0 as only
        Note over S: cancel, no  Note over S:  forged  end    init:      , by ann bo
        Note over S: FAILED
      "
    `);
    expect(runDiagram(view, "state")).toMatchInlineSnapshot(`
      "stateDiagram-v2
        s0: cancel
        [*] --> s0
        s0 --> FAILED
        FAILED --> [*]
      "
    `);
  });
});

/** Two services and two deploys on one database, each in a process of its own. */
import type { ChildProcess } from "node:child_process";
import { afterEach, expect, it } from "vitest";
import { forkCompiled, message } from "../storage/support/children.ts";
import { onEachDatabase } from "../support/databases.ts";

const SERVICE = "test/events/support/service-process.ts";

onEachDatabase((database) => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  const service = async (name: string): Promise<ChildProcess> => {
    const child = await forkCompiled(SERVICE, [database.name, await database.place(), name]);
    children.push(child);
    expect(await message(child)).toBe("ready");
    return child;
  };
  const ask = async (child: ChildProcess, of: { readonly publish?: string; readonly expect?: number }) => {
    const answer = message(child);
    child.send(of);
    return answer;
  };

  it("[F-19] two services in two processes get each other's events, and so does a later deploy, also after a kill", async () => {
    await database.open();
    const [bill, ship] = [await service("bill"), await service("ship")];
    await ask(bill, { publish: "o-1" });
    await ask(ship, { publish: "o-2" });
    expect(await ask(bill, { expect: 2 })).toEqual(["o-1", "o-2"]);
    expect(await ask(ship, { expect: 2 })).toEqual(["o-1", "o-2"]);
    ship.kill("SIGKILL");
    await ask(bill, { publish: "o-3" });
    // The next deploy of the service: what was published while it was down waits for it.
    const [again, audit] = [await service("ship"), await service("audit")];
    await ask(bill, { publish: "o-4" });
    expect(await ask(again, { expect: 2 })).toEqual(["o-3", "o-4"]);
    expect(await ask(audit, { expect: 1 })).toEqual(["o-4"]);
    expect(await ask(bill, { expect: 4 })).toEqual(["o-1", "o-2", "o-3", "o-4"]);
  });
});

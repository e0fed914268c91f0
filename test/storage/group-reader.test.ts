/** Reads by key that share statements. */
import { expect, it } from "vitest";
import { GroupReader } from "../../src/storage/read/group-reader.ts";

/** A reader whose reads end when the test says so. */
function held(keysMax: number = 100) {
  const reads: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  const reader = new GroupReader<string>({
    keysMax,
    read: (keys) =>
      new Promise((resolve, reject) => {
        const values = keys.filter((key) => key !== "none").map((key) => [key, `value of ${key}`] as const);
        reads.push({ keys, end: (error) => (error ? reject(error) : resolve(new Map(values))) });
      }),
  });
  const endNext = async (error?: Error): Promise<readonly string[]> => {
    await expect.poll(() => reads.length).toBeGreaterThan(0);
    const [first] = reads.splice(0, 1) as [(typeof reads)[0]];
    first.end(error);
    return first.keys;
  };
  return { reader, endNext, underWay: () => reads.map(({ keys }) => keys) };
}

it("a lone read is sent at once, and those that come meanwhile share the next one", async () => {
  const { reader, endNext, underWay } = held();
  const first = reader.read("a");
  expect(underWay()).toEqual([["a"]]);
  const others = [reader.read("b"), reader.read("c"), reader.read("b"), reader.read("none")];
  expect(underWay()).toEqual([["a"]]);
  expect(await endNext()).toEqual(["a"]);
  expect(await endNext()).toEqual(["b", "c", "none"]);
  expect(await first).toBe("value of a");
  expect(await Promise.all(others)).toEqual(["value of b", "value of c", "value of b", undefined]);
  const later = reader.read("d");
  expect(await endNext()).toEqual(["d"]);
  expect(await later).toBe("value of d");
});

it("one read has no more keys than it may", async () => {
  const { reader, endNext } = held(2);
  const all = ["a", "b", "c", "d"].map((key) => reader.read(key));
  expect([await endNext(), await endNext(), await endNext()]).toEqual([["a"], ["b", "c"], ["d"]]);
  expect(await Promise.all(all)).toHaveLength(4);
});

it("[K-17] a value that cannot be read fails for its own caller alone", async () => {
  const { reader, endNext } = held();
  const first = reader.read("a");
  const [bad, good] = [reader.read("bad").catch((error: Error) => error.message), reader.read("good")];
  await endNext();
  expect(await endNext(new Error("unreadable"))).toEqual(["bad", "good"]);
  expect(await endNext(new Error("bad is unreadable"))).toEqual(["bad"]);
  expect(await endNext()).toEqual(["good"]);
  expect(await Promise.all([first, bad, good])).toEqual(["value of a", "bad is unreadable", "value of good"]);
});

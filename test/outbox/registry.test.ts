import { ConfigurationError, ResolverError, ResolverRegistry, type AnyResolver } from "amends/erasure";
import { describe, expect, it } from "vitest";
import { eraser, keeper } from "./support/systems.ts";

describe("the registry of resolvers", () => {
  it("[O-08] a resolver is found by its name, and a name that there is not is a ResolverError", () => {
    const stripe = eraser("stripe");
    const registry = new ResolverRegistry([stripe]).register(keeper("logs", () => ({ alreadyAbsent: true })));
    expect(registry.get("stripe")).toBe(stripe);
    expect(registry.names).toEqual(["stripe", "logs"]);
    expect([registry.has("logs"), registry.has("crm")]).toEqual([true, false]);
    expect(() => registry.get("crm")).toThrow(ResolverError);
    for (const name of ["__proto__", "constructor", "toString"]) expect(registry.has(name)).toBe(false);
  });

  it("[K-20] a resolver that is registered twice is refused, and the first one stays", () => {
    const first = eraser("stripe");
    const registry = new ResolverRegistry([first]);
    expect(() => registry.register(eraser("stripe"))).toThrow(ConfigurationError);
    expect(() => new ResolverRegistry([first, first])).toThrow("registered already");
    expect(registry.get("stripe")).toBe(first);
  });

  it.each([
    ["nothing", undefined],
    ["no name", { ...eraser("x"), name: undefined }],
    ["an odd name", { ...eraser("x"), name: "two words" }],
    ["no method", { name: "stripe" }],
    ["a method that is none", { name: "stripe", eraseSubject: "yes" }],
  ])("[K-20] %s is no resolver", (_name, wrong) => {
    expect(() => new ResolverRegistry([wrong as unknown as AnyResolver])).toThrow(/resolver/i);
  });
});

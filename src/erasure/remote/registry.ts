/** The resolvers of this process by name; a ref's `kind` is the name of its resolver. */
import { AmendsError, ConfigurationError } from "../../core/errors.ts";
import { checkName, SYSTEM_NAME_MAX } from "../../core/identity.ts";
import {
  ResolverError,
  type AnyResolver,
  type RectifyingResolver,
  type Resolver,
  type RetentionOnlyResolver,
  type VerifyingResolver,
} from "./resolver.ts";

/** The resolvers of this process, by name. */
export class ResolverRegistry {
  readonly #resolvers: Map<string, AnyResolver> = new Map();

  constructor(resolvers: readonly AnyResolver[] = []) {
    for (const resolver of resolvers) this.register(resolver);
  }

  /**
   * Adds a resolver. Throws `BAD_DEFINITION` if it lacks a name or a method, and a `ConfigurationError` if the name is
   * taken.
   */
  register(resolver: AnyResolver): this {
    const { name: given } = (resolver ?? {}) as Partial<AnyResolver>;
    const name = checkName(given, "The name of a resolver", SYSTEM_NAME_MAX);
    if (!canErase(resolver) && !isRetentionOnly(resolver)) {
      throw new AmendsError(
        "BAD_DEFINITION",
        `Resolver ${name} must have eraseSubject, or scheduleErasure if data in the system can only expire.`,
      );
    }
    if (this.#resolvers.has(name)) {
      throw new ConfigurationError(
        `A resolver named ${name} is registered already. Give each system a name of its own.`,
      );
    }
    this.#resolvers.set(name, resolver);
    return this;
  }

  /** The names of all resolvers, in the order of their registration. */
  get names(): readonly string[] {
    return [...this.#resolvers.keys()];
  }

  /** True if a resolver of this name is registered. */
  has(name: string): boolean {
    return this.#resolvers.has(name);
  }

  /** The resolver of this name. Throws a `ResolverError` if there is none. */
  get(name: string): AnyResolver {
    const resolver = this.#resolvers.get(name);
    if (!resolver) throw new ResolverError("UnknownResolver", `No resolver is named ${name}.`);
    return resolver;
  }

  /** True if the values of this resolver's refs are personal data. */
  hasPersonalRefs(name: string): boolean {
    return this.#resolvers.get(name)?.personalRef === true;
  }
}

export function canErase(resolver: AnyResolver): resolver is Resolver {
  return has(resolver, "eraseSubject");
}

/** A resolver with `scheduleErasure` is never called to erase. */
export function isRetentionOnly(resolver: AnyResolver): resolver is RetentionOnlyResolver {
  return has(resolver, "scheduleErasure");
}

export function canRectify(resolver: AnyResolver): resolver is RectifyingResolver {
  return has(resolver, "rectifySubject");
}

export function canVerify(resolver: AnyResolver): resolver is VerifyingResolver {
  return has(resolver, "verifyAbsent");
}

function has(resolver: AnyResolver, method: string): boolean {
  return typeof (resolver as unknown as Record<string, unknown> | undefined)?.[method] === "function";
}

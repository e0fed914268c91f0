/** Typed names: a convention's name cannot be passed where a schema's name is expected. They are texts in storage only. */
import { z } from "zod";

export class ConventionSrn {
  readonly kind = "convention";
  readonly localId: string;

  constructor(localId: string) {
    this.localId = localId;
  }

  static parse(text: string): ConventionSrn {
    const [, localId] = /^urn:osa:convention:(\w+)$/.exec(text) ?? [];
    if (localId === undefined) throw new TypeError("A convention's name is urn:osa:convention:<id>.");
    return new ConventionSrn(localId);
  }

  toString(): string {
    return `urn:osa:convention:${this.localId}`;
  }
}

export class SchemaSrn {
  readonly kind = "schema";
  readonly localId: string;

  constructor(localId: string) {
    this.localId = localId;
  }

  toString(): string {
    return `urn:osa:schema:${this.localId}`;
  }
}

/** Events hold the text; handlers and the saga get the name. */
export const conventionSrn = z.string().transform((text) => ConventionSrn.parse(text));
export const schemaSrn = z.string().transform((text) => new SchemaSrn(text.replace("urn:osa:schema:", "")));

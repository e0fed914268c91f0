/** Amends logs through the logger of Nest. */
import { Logger as NestLogger } from "@nestjs/common";
import type { Logger } from "amends";

const nest = new NestLogger("Amends");

export const logger: Logger = {
  info: (fields, message) => nest.log({ message, ...fields }),
  warn: (fields, message) => nest.warn({ message, ...fields }),
  error: (fields, message) => nest.error({ message, ...fields }),
};

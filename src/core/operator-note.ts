/** Every operator action is recorded with a reason and, if given, the operator's name. */
import { AmendsError } from "./errors.ts";

/** Why an operator did something, and who the operator is. */
export interface OperatorNote {
  /** The reason, 1 to 1000 characters. It goes on record; a missing reason throws `BAD_OPTION`. */
  readonly reason: string;
  /** The name of the operator, at most 255 characters. Default: no name goes on record. */
  readonly by?: string;
}

/** The same for an action by the application itself: both fields are optional. */
export type OptionalNote = Partial<OperatorNote>;

const REASON_MAX = 1_000;
const NAME_MAX = 255;

/** The recorded note if the caller gives none. */
const UNSAID: Required<OperatorNote> = { reason: "no reason given", by: "unknown" };

/** The note to record, with defaults for missing fields. */
export function recordedNote(note: OptionalNote | undefined, where: string): Required<OperatorNote> {
  const { reason = UNSAID.reason, by = UNSAID.by } = note ?? {};
  return { by, ...checkNote({ reason, by }, where) };
}

/** `where` names the place where the reason is recorded. */
export function checkNote(note: OperatorNote | undefined, where: string): OperatorNote {
  const { reason, by } = note ?? {};
  if (typeof reason !== "string" || reason.trim() === "" || reason.length > REASON_MAX) {
    throw new AmendsError(
      "BAD_OPTION",
      `Give a reason of 1 to ${REASON_MAX} characters: it goes into ${where}.`,
    );
  }
  if (by !== undefined && (typeof by !== "string" || by.length > NAME_MAX)) {
    throw new AmendsError("BAD_OPTION", `\`by\` names who did it, in at most ${NAME_MAX} characters.`);
  }
  return { reason, ...(by !== undefined && { by }) };
}

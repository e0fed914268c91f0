/** Writes to a storage of the user's own, which somebody else may have overtaken. */

/** False where the version was no longer the saga's. */
export async function fenced(write: () => Promise<void>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (codeOf(error) === "SAGA_CONCURRENCY") return false;
    throw error;
  }
}

/** By code and not by class: the storage may come with a copy of this package of its own. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null | undefined)?.code;
}

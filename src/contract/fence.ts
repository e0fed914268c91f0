/** Fenced writes to a custom storage, where another writer may have changed the saga first. */

/** False if the version was outdated. */
export async function fenced(write: () => Promise<void>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (codeOf(error) === "SAGA_CONCURRENCY") return false;
    throw error;
  }
}

/** Compares the code, not the class: the storage may use its own copy of this package. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null | undefined)?.code;
}

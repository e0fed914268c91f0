/**
 * Reads by key that share statements. A lone read is sent at once; reads that are asked for while one is under way wait for the
 * next, which reads for all of them. So a thousand callers that wait for a thousand rows keep one connection busy, not the pool.
 */
export interface GroupReaderOptions<Value> {
  /** Reads the values of these keys. A key without one is left out. */
  readonly read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  /** One read has at most this many keys. */
  readonly keysMax: number;
}

interface Waiting<Value> {
  readonly key: string;
  readonly resolve: (value: Value | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupReader<Value> {
  readonly #options: GroupReaderOptions<Value>;
  readonly #waiting: Waiting<Value>[] = [];
  #isReading = false;

  constructor(options: GroupReaderOptions<Value>) {
    this.#options = options;
  }

  /** The value as it is in the database at or after this call. */
  read(key: string): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (!this.#isReading) void this.#readAll();
    });
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) await this.#readGroup(this.#waiting.splice(0, this.#options.keysMax));
    this.#isReading = false;
  }

  /** A value that cannot be read must not cost the others theirs: then each is read alone. */
  async #readGroup(group: readonly Waiting<Value>[]): Promise<void> {
    try {
      const values = await this.#options.read([...new Set(group.map(({ key }) => key))]);
      for (const { key, resolve } of group) resolve(values.get(key));
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error);
      else for (const one of group) await this.#readGroup([one]);
    }
  }
}

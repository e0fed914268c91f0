/**
 * The only file that opens connections for webhooks. A host name is resolved once, to all of its addresses. If one of
 * them is forbidden, the call is refused, because a name with both public and private addresses is an attack or a
 * mistake. The connection goes to the addresses that were checked, with the host name for TLS, and its remote address
 * is checked again before a byte is sent. This prevents DNS rebinding.
 */
import { lookup as systemLookup } from "node:dns/promises";
import {
  connect as connectPlain,
  isIP,
  type LookupFunction,
  type Socket,
  type TcpNetConnectOpts,
} from "node:net";
import { connect as connectSecure, createSecureContext, type SecureContext } from "node:tls";
import type { Clock } from "../../storage/clock.ts";
import { mayCall, type OpenNetworks } from "./address.ts";
import { passContinue } from "./continue.ts";
import { Trouble, troubleCode } from "./trouble.ts";
import type { ErrorCode } from "../../core/delivery/error-code.ts";

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Opens a plain connection. */
export type Dial = (options: TcpNetConnectOpts) => Socket;

export interface ConnectorOptions {
  readonly open: OpenNetworks;
  readonly connectMs: number;
  readonly clock: Clock;
  readonly resolve?: Resolve | undefined;
  readonly ca?: string | readonly string[] | undefined;
  readonly dial?: Dial | undefined;
}

/** What the HTTP client says about the connection that it needs. */
export interface Wanted {
  readonly hostname: string;
  readonly protocol: string;
  readonly port: string;
}

export type Connected = (...outcome: [null, Socket] | [Error, null]) => void;

/** How long one address is tried before the next of the same name is tried beside it. */
const ATTEMPT_MS = 1_000;

export class Connector {
  readonly #options: ConnectorOptions;
  readonly #resolve: Resolve;
  /** Aborts the attempts that are under way. */
  readonly #underWay = new Set<() => void>();
  #context: SecureContext | undefined;

  constructor(options: ConnectorOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? sharing(resolveBySystem);
  }

  /** Calls back once, with a connection that is ready for requests or with a `Trouble`. */
  connect(wanted: Wanted, callback: Connected): void {
    const attempt: Attempt = { phase: "dns_failed", socket: undefined, over: false };
    const finish = (...outcome: Parameters<Connected>): void => {
      if (attempt.over) return;
      attempt.over = true;
      cancel();
      this.#underWay.delete(abandon);
      if (outcome[0]) attempt.socket?.destroy();
      callback(...outcome);
    };
    const cancel = this.#options.clock.after(this.#options.connectMs, () =>
      finish(new Trouble("connect_timeout"), null),
    );
    const abandon = (): void => finish(new Trouble("closed"), null);
    this.#underWay.add(abandon);
    void this.#begin(wanted, attempt, finish);
  }

  /** Ends the attempts under way, so that no timer keeps the process alive. */
  close(): void {
    for (const abandon of this.#underWay) abandon();
  }

  async #begin(wanted: Wanted, attempt: Attempt, finish: Connected): Promise<void> {
    try {
      const addresses = await this.#addresses(wanted.hostname);
      if (!attempt.over) this.#dial(wanted, addresses, attempt, finish);
    } catch (error) {
      finish(new Trouble(error instanceof Trouble ? error.code : attempt.phase), null);
    }
  }

  async #addresses(host: string): Promise<readonly string[]> {
    const addresses = isIP(host) === 0 ? await this.#resolve(host) : [host];
    if (addresses.length === 0) throw new Trouble("dns_failed");
    if (!addresses.every((address) => mayCall(address, this.#options.open)))
      throw new Trouble("address_refused");
    return addresses;
  }

  #dial(wanted: Wanted, addresses: readonly string[], attempt: Attempt, finish: Connected): void {
    const { open, dial = connectPlain, ca } = this.#options;
    const secure = wanted.protocol === "https:";
    attempt.phase = "connect_failed";
    const plain = dial({
      host: wanted.hostname,
      port: Number(wanted.port || (secure ? 443 : 80)),
      lookup: answerWith(addresses),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
      noDelay: true,
      keepAlive: true,
    });
    // Never removed: an error event without a listener would end the process.
    plain.on("error", (error) => finish(new Trouble(phaseCode(attempt.phase, error)), null));
    plain.on("close", () => finish(new Trouble(attempt.phase), null));
    attempt.socket = plain;
    plain.once("connect", () => {
      if (attempt.over) return;
      if (!mayCall(plain.remoteAddress ?? "", open)) return finish(new Trouble("address_refused"), null);
      if (!secure) return finish(null, passContinue(plain));
      attempt.phase = "tls_failed";
      this.#context ??= createSecureContext(ca === undefined ? {} : { ca: [ca].flat() });
      this.#secure(plain, wanted.hostname, attempt, finish);
    });
  }

  #secure(plain: Socket, hostname: string, attempt: Attempt, finish: Connected): void {
    const name = hostname.replace(/\.$/, "");
    const socket = connectSecure({
      socket: plain,
      host: name,
      // TLS server names must be host names, not addresses.
      servername: isIP(name) === 0 ? name : "",
      ...(this.#context && { secureContext: this.#context }),
      ALPNProtocols: ["http/1.1"],
      // Set explicitly, because an environment variable could turn it off otherwise.
      rejectUnauthorized: true,
    });
    attempt.socket = socket;
    socket.on("error", (error: Error) => finish(new Trouble(phaseCode(attempt.phase, error)), null));
    socket.once("secureConnect", () => finish(null, passContinue(socket)));
  }
}

interface Attempt {
  /** The label of a failure at this point. */
  phase: ErrorCode;
  socket: Socket | undefined;
  over: boolean;
}

function phaseCode(phase: ErrorCode, error: unknown): ErrorCode {
  return phase === "connect_failed" && troubleCode(error) === "connect_refused" ? "connect_refused" : phase;
}

/** Passes the checked addresses to the platform, so that it does not resolve the name again. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all }, callback) => {
    const [first] = answers;
    if (all) callback(null, answers);
    else callback(null, first?.address ?? "", first?.family);
  };
}

async function resolveBySystem(name: string): Promise<readonly string[]> {
  const found = await systemLookup(name, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Concurrent lookups of one name share one answer. The platform resolves names in a small thread pool that the whole
 * process shares; a name server that never answers blocks one thread per name, not one per attempt.
 */
export function sharing(resolve: Resolve): Resolve {
  const underWay = new Map<string, Promise<readonly string[]>>();
  return (name) => {
    const known = underWay.get(name);
    if (known) return known;
    const begun = resolve(name).finally(() => underWay.delete(name));
    underWay.set(name, begun);
    return begun;
  };
}

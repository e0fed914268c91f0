/**
 * Which addresses may be called: global unicast addresses only, compared by their bytes and never by their spelling.
 * Special-purpose addresses of the IANA registries are refused, even if they can be reached. The user allows private
 * networks by an explicit list. The metadata addresses of clouds, which hand out credentials, are refused unless
 * exactly that address is listed: allowing 169.254.0.0/16 for a printer must not allow them.
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import { AmendsError } from "../../core/errors.ts";

/** IANA's special-purpose registry for IPv4, multicast and reserved networks. */
const SPECIAL_V4: readonly string[] = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by carriers
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

/** Global unicast. Every other prefix is refused: loopback, ULA, link-local, mapped, NAT64 … */
const GLOBAL_V6 = "2000::/3";

/** Special-purpose networks inside global unicast. */
const SPECIAL_V6: readonly string[] = [
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID, drones
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
];

/** Metadata addresses, where clouds hand out credentials, configuration and names to callers inside. */
const METADATA: readonly string[] = [
  "169.254.169.254", // most clouds
  "169.254.169.253", // AWS, names
  "169.254.169.123", // AWS, time
  "169.254.170.2", // AWS, containers
  "169.254.170.23", // AWS, pods
  "169.254.0.23", // Tencent
  "169.254.42.42", // Scaleway
  "100.100.100.200", // Alibaba
  "168.63.129.16", // Azure: looks public
  "192.0.0.192", // Oracle
  "fd00:ec2::254", // AWS
  "fd00:ec2::253", // AWS, names
  "fd00:ec2::23", // AWS, pods
  "fd20:ce::254", // Google
  "fd00:42::42", // Scaleway
  "fd00:c1::a9fe:a9fe", // Oracle
  "fe80::a9fe:a9fe", // OpenStack
];

/**
 * Networks that the user allows. One list per family, because a shared list would match every IPv4 address with ::/0.
 */
export interface OpenNetworks {
  readonly ipv4: BlockList;
  readonly ipv6: BlockList;
  /** Those of them that are one single address. */
  readonly hosts: BlockList;
}

const special = readNetworks([...SPECIAL_V4, ...SPECIAL_V6], "special");
const globalV6 = readNetworks([GLOBAL_V6], "global").ipv6;
const metadata = readNetworks(METADATA, "metadata").hosts;

/** Reads "10.1.0.0/16", "fd00::/8" or single addresses. `field` names the option in the error. */
export function readNetworks(list: readonly string[], field: string): OpenNetworks {
  const open: OpenNetworks = { ipv4: new BlockList(), ipv6: new BlockList(), hosts: new BlockList() };
  for (const entry of list) {
    const [, base = "", length] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const bits = isIPv4(base) ? 32 : 128;
    const prefix = length === undefined ? bits : Number(length);
    if (isIP(base) === 0 || prefix > bits) {
      throw new AmendsError(
        "BAD_OPTION",
        `${field} must list networks such as "10.1.0.0/16" or "fd00::/8", or single addresses.`,
        { entry },
      );
    }
    open[family(base)].addSubnet(base, prefix, family(base));
    if (prefix === bits) open.hosts.addAddress(base, family(base));
  }
  return open;
}

/** May this address be called? Anything that is not an address may not. */
export function mayCall(address: string, open: OpenNetworks): boolean {
  // A zone ("fe80::1%eth0") selects a local network interface; a remote address must not have one.
  if (isIP(address) === 0 || address.includes("%")) return false;
  return [address, ...carried(address)].every((one) => {
    if (metadata.check(one, family(one))) return open.hosts.check(one, family(one));
    return isPublic(one) || isIn(open, one);
  });
}

function isPublic(address: string): boolean {
  return !isIn(special, address) && (isIPv4(address) || globalV6.check(address, "ipv6"));
}

/** The list of IPv4 networks also knows their addresses when they come mapped into IPv6. */
function isIn({ ipv4, ipv6 }: OpenNetworks, address: string): boolean {
  return isIPv4(address) ? ipv4.check(address) : ipv6.check(address, "ipv6") || ipv4.check(address, "ipv6");
}

function family(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/**
 * The IPv4 addresses that an IPv6 address carries inside and that a gateway would call in its place. They are checked
 * as well, so that allowing NAT64 for an IPv6-only network does not allow everything behind it.
 */
function carried(address: string): readonly string[] {
  if (isIPv4(address)) return [];
  const [a, b, c, d, e, f, g, h] = groups(address);
  const last = v4(g, h);
  const zeros = (...all: readonly number[]): boolean => all.every((group) => group === 0);
  if (zeros(a, b, c, d, e) && (f === 0 || f === 0xff_ff)) return [last]; // compatible and mapped
  if (zeros(a, b, c, d, f) && e === 0xff_ff) return [last]; // translated
  if (a === 0x64 && b === 0xff9b) return [last]; // NAT64
  if (a === 0x20_02) return [v4(b, c)]; // 6to4
  if (a === 0x20_01 && b === 0) return [v4(c, d), v4(g ^ 0xff_ff, h ^ 0xff_ff)]; // Teredo: its server, its client
  if ((e & ~0x02_00) === 0 && f === 0x5e_fe) return [last]; // ISATAP
  return [];
}

type Groups = readonly [number, number, number, number, number, number, number, number];

/** The eight groups. The platform's URL parser reads the text, so that no second parser can differ. */
function groups(address: string): Groups {
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail] = text.split("::");
  const parts = (side: string): number[] =>
    side === "" ? [] : side.split(":").map((hex) => parseInt(hex, 16));
  const before = parts(head);
  const after = tail === undefined ? [] : parts(tail);
  const gap = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...gap, ...after] as unknown as Groups;
}

function v4(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** URLs that must never lead to a connection, each with the label it is refused with. */
import { isIPv4 } from "node:net";
import { SPECIAL_V4, SPECIAL_V6, words } from "./special-addresses.ts";

export interface Forbidden {
  readonly url: string;
  readonly code: string;
  /** What the name in the URL resolves to; a public address where nothing is said. */
  readonly answer?: readonly string[];
}

const SPECIAL = [...SPECIAL_V4, ...SPECIAL_V6];
const OUTSIDE = "93.184.216.34";
const OUTSIDE_V6 = "2606:2800:220:1::248";
const NAMED = "https://receiver.example/hook";

const literals = SPECIAL.map((address) => `https://${isIPv4(address) ? address : `[${address}]`}/hook`);

/** Other spellings of 127.0.0.1, 0.0.0.0, 169.254.169.254, 10.0.0.1, 192.168.0.1 and ::1. */
const spellings = words(`
  127.1 127.0.1 127.000.000.001 127.0.0.1. 0177.0.0.1 0177.0.0.01 00000177.1 127.65535 127.0x1 0177.0x0.0.1
  0x7f.1 0x7F.0x0.0x0.0x1 0x7f.0.0.1 0x7f000001 0X7F000001 0x0000007f000001 2130706433 2130706433. 017700000001
  1 1. 0 0. 00 0x 0x0
  １２７.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ²130706433
  %31%32%37.0.0.1 127%2e0%2e0%2e1 %30x7f.1 %EF%BC%91%EF%BC%92%EF%BC%97.0.0.1
  2852039166 0xa9fea9fe 0xA9.0xFE.0xA9.0xFE 0251.0376.0251.0376 025177524776 0251.254.0xa9.254
  169.254.43518 169.16689662 169.254.169.254. １６９.２５４.１６９.２５４
  167772161 012.1 0xa.1 10.1 3232235521 0xc0a80001 0300.0250.1 192.168.1
  [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0:1] [0::1] [::0.0.0.1] [0:0:0:0:0:0:0:0]
  [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:0:7f00:1] [0064:FF9B::7F00:0001]
  [FE80::1] [FC00::] [2002:7F00:0001::]
`).map((host) => `https://${host}/hook`);

const schemes = words(`
  http://receiver.example/hook HTTP://receiver.example ftp://receiver.example/ ws://receiver.example/
  wss://receiver.example/ file:///etc/passwd file://localhost/etc/passwd gopher://receiver.example:70/_x
  dict://receiver.example:11211/stat ldap://receiver.example/ tftp://receiver.example/x jar:https://a!/
  javascript:alert(1) data:text/plain,x blob:https://receiver.example/x about:blank mailto:a@receiver.example
  unix:/run/docker.sock httpss://receiver.example/ view-source:https://a.example/
`);

const shapes = words(`
  receiver.example //receiver.example/hook /hook https: https:// https:/// https://?x
  https:receiver.example https:/receiver.example https:///receiver.example/
  https://receiver.example/#fragment https://receiver.example#@127.0.0.1/
  https://[::1 https://::1/ https://[127.0.0.1]/ https://[::1%25lo]/ https://[fe80::1%eth0]/ https://[v1.x]/
  https://256.0.0.1/ https://127.0.0.1.1/ https://1.2.3.08/ https://0x7g.1/
  https://receiver.example:99999/ https://receiver.example:-1/ https://receiver.example:a/
  https://a^b.example/ https://a|b.example/ https://<receiver>.example/
`);

const misleading = [
  "",
  " https://receiver.example/",
  "https://receiver.example/ ",
  "https://receiver.example/a b",
  "https://127.0.0.1\t/",
  "ht\ttps://receiver.example/",
  "https://receiver.exa\nmple/",
  "https://receiver.example/\r\nHost: inside",
  "https://receiver.example/\0",
  "https://receiver.example\u200B/",
  "https://receiver.example\u202E/",
  "https:\\\\receiver.example",
  "https://receiver.example\\@127.0.0.1/",
  "https://127.0.0.1\\@receiver.example/",
  `https://receiver.example/${"a".repeat(2_048)}`,
];

const credentials = words(`
  user@ user:password@ :password@ @ :@ user:@ 127.0.0.1@ receiver.example:443@ a%40b@ user:pass:word@
  receiver.example%2f@ a@b@ https:@
`).map((userinfo) => `https://${userinfo}receiver.example/hook`);

const ports = words(`
  0 1 21 22 23 25 53 80 110 143 389 445 465 587 1433 2375 3000 3306 5432 5984 6379 6443 8000 8080 8500 9000 9200
  10250 11211 15672 27017 65535
`).map((port) => `https://receiver.example:${port}/hook`);

/** Names that lead inside, alone or beside an address outside. */
const answers: readonly (readonly string[])[] = [
  ...SPECIAL.map((address) => [address]),
  ...["fe80::1%lo", "127.1", "0x7f.1", "2130706433", "localhost", ""].map((text) => [text]),
  ...SPECIAL.slice(0, 20).map((address) => [OUTSIDE, address]),
  ...SPECIAL.slice(-20).map((address) => [address, OUTSIDE_V6]),
  [OUTSIDE, OUTSIDE_V6, "::1"],
  [OUTSIDE, "169.254.169.254", OUTSIDE_V6],
  [OUTSIDE, ""],
];

export const CORPUS: readonly Forbidden[] = [
  ...[...literals, ...spellings].map((url) => ({ url, code: "address_refused" })),
  ...schemes.map((url) => ({ url, code: "scheme_refused" })),
  ...[...shapes, ...misleading].map((url) => ({ url, code: "url_invalid" })),
  ...credentials.map((url) => ({ url, code: "credentials_refused" })),
  ...ports.map((url) => ({ url, code: "port_refused" })),
  ...answers.map((answer) => ({ url: NAMED, code: "address_refused", answer })),
  { url: NAMED, code: "dns_failed", answer: [] },
];

/** URLs that must never lead to a connection, each with the label it is refused with. */
import { isIPv4 } from "node:net";
import { SPECIAL_V4, SPECIAL_V6 } from "./special-addresses.ts";

export interface Forbidden {
  readonly url: string;
  readonly code: string;
  /** What the name in the URL resolves to, lookup by lookup. */
  readonly answers?: readonly (readonly string[])[];
}

const OUTSIDE = "93.184.216.34";
const OUTSIDE_V6 = "2606:2800:220:1::248";

const literals: readonly Forbidden[] = [...SPECIAL_V4, ...SPECIAL_V6].map((address) => ({
  url: `https://${isIPv4(address) ? address : `[${address}]`}/hook`,
  code: "address_refused",
}));

/** Other spellings of 127.0.0.1, 169.254.169.254, 10.0.0.1, 192.168.0.1, 0.0.0.0 and ::1. */
const spellings: readonly Forbidden[] = [
  ...["127.1", "127.0.1", "127.000.000.001", "127.0.0.1.", "0177.0.0.1", "0177.0.0.01", "00000177.1"],
  ...[
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "0x7f.0.0.1",
    "0x7f000001",
    "0X7F000001",
    "0x0000007f000001",
    "2130706433",
  ],
  ...[
    "017700000001",
    "0177.0x0.0.1",
    "127.0x1",
    "127.65535",
    "2130706433.",
    "1.",
    "1",
    "0",
    "0x0",
    "00",
    "0x",
    "0.",
  ],
  ...["１２７.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "①②⑦.⓪.⓪.①", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "²130706433"],
  ...["%31%32%37.0.0.1", "127%2e0%2e0%2e1", "%30x7f.1", "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1"],
  ...[
    "2852039166",
    "0xa9fea9fe",
    "0xA9.0xFE.0xA9.0xFE",
    "0251.0376.0251.0376",
    "025177524776",
    "169.254.43518",
  ],
  ...["169.16689662", "169.254.169.254.", "１６９.２５４.１６９.２５４", "0251.254.0xa9.254"],
  ...["167772161", "012.1", "0xa.1", "10.1", "3232235521", "0xc0a80001", "0300.0250.1", "192.168.1"],
  ...["[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0:1]", "[0::1]", "[::0.0.0.1]"],
  ...["[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:0:7f00:1]", "[0064:FF9B::7F00:0001]"],
  ...["[FE80::1]", "[FC00::]", "[2002:7F00:0001::]", "[0:0:0:0:0:0:0:0]"],
].map((host) => ({ url: `https://${host}/hook`, code: "address_refused" }));

const schemes: readonly Forbidden[] = [
  ...[
    "http://receiver.example/hook",
    "HTTP://receiver.example",
    "ftp://receiver.example/",
    "ws://receiver.example/",
  ],
  ...[
    "wss://receiver.example/",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "gopher://receiver.example:70/_x",
  ],
  ...[
    "dict://receiver.example:11211/stat",
    "ldap://receiver.example/",
    "tftp://receiver.example/x",
    "jar:https://a!/",
  ],
  ...["javascript:alert(1)", "data:text/plain,x", "blob:https://receiver.example/x", "about:blank"],
  ...[
    "mailto:a@receiver.example",
    "unix:/run/docker.sock",
    "httpss://receiver.example/",
    "view-source:https://a.example/",
  ],
].map((url) => ({ url, code: "scheme_refused" }));

const shapes: readonly Forbidden[] = [
  ...[
    "",
    "receiver.example",
    "//receiver.example/hook",
    "/hook",
    "https:",
    "https://",
    "https:///",
    "https://?x",
  ],
  ...[
    "https:receiver.example",
    "https:/receiver.example",
    "https:///receiver.example/",
    "https:\\\\receiver.example",
  ],
  ...[
    "https://receiver.example\\@127.0.0.1/",
    "https://127.0.0.1\\@receiver.example/",
    " https://receiver.example/",
  ],
  ...[
    "https://receiver.example/ ",
    "https://receiver.example/a b",
    "ht\ttps://receiver.example/",
    "https://receiver.exa\nmple/",
  ],
  ...[
    "https://receiver.example/\r\nHost: inside",
    "https://receiver.example/\0",
    "https://receiver.example\u200B/",
  ],
  ...["https://127.0.0.1\t/", "https://receiver.example/#fragment", "https://receiver.example#@127.0.0.1/"],
  ...[
    "https://[::1",
    "https://::1/",
    "https://[127.0.0.1]/",
    "https://[::1%25lo]/",
    "https://[fe80::1%eth0]/",
  ],
  ...[
    "https://[v1.x]/",
    "https://256.0.0.1/",
    "https://127.0.0.1.1/",
    "https://1.2.3.08/",
    "https://0x7g.1/",
  ],
  ...["https://receiver.example:99999/", "https://receiver.example:-1/", "https://receiver.example:a/"],
  ...[
    "https://a^b.example/",
    "https://a|b.example/",
    "https://<receiver>.example/",
    `https://receiver.example/${"a".repeat(2_048)}`,
  ],
].map((url) => ({ url, code: "url_invalid" }));

const credentials: readonly Forbidden[] = [
  ...[
    "user@",
    "user:password@",
    ":password@",
    "@",
    ":@",
    "user:@",
    "127.0.0.1@",
    "receiver.example:443@",
    "a%40b@",
  ],
  ...["user:pass:word@", "receiver.example%2f@", "a@b@", "https:@"],
].map((userinfo) => ({ url: `https://${userinfo}receiver.example/hook`, code: "credentials_refused" }));

const ports: readonly Forbidden[] = [
  ...[
    0, 1, 21, 22, 23, 25, 53, 80, 110, 143, 389, 445, 465, 587, 1433, 2375, 3000, 3306, 5432, 5984, 6379,
    6443,
  ],
  ...[8000, 8080, 8500, 9000, 9200, 10250, 11211, 15672, 27017, 65535],
].map((port) => ({ url: `https://receiver.example:${port}/hook`, code: "port_refused" }));

/** Names that lead inside, alone or beside an address outside. */
const names: readonly Forbidden[] = [
  ...[...SPECIAL_V4, ...SPECIAL_V6].map((address) => [[address]]),
  [[OUTSIDE, "127.0.0.1"]],
  [["127.0.0.1", OUTSIDE]],
  [[OUTSIDE, OUTSIDE_V6, "::1"]],
  [[OUTSIDE_V6, "::ffff:10.0.0.1"]],
  [[OUTSIDE, "169.254.169.254", OUTSIDE_V6]],
  [["fe80::1%lo"]],
  [["127.1"]],
  [["0x7f.1"]],
  [["2130706433"]],
  [["localhost"]],
  [[""]],
  [[OUTSIDE, ""]],
].map((answers) => ({ url: "https://receiver.example/hook", code: "address_refused", answers }));

const unresolved: readonly Forbidden[] = [
  { url: "https://receiver.example/hook", code: "dns_failed", answers: [[]] },
];

export const CORPUS: readonly Forbidden[] = [
  ...literals,
  ...spellings,
  ...schemes,
  ...shapes,
  ...credentials,
  ...ports,
  ...names,
  ...unresolved,
];

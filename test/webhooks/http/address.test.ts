import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mayCall, readNetworks } from "../../../src/webhooks/http/address.ts";
import { PUBLIC, SPECIAL_V4, SPECIAL_V6 } from "./support/special-addresses.ts";

const nothing = readNetworks([], "allowNetworks");
const opened = (...list: readonly string[]) => readNetworks(list, "allowNetworks");

describe("addresses", () => {
  it("[W-18] every address that IANA sets apart is refused, up to the edges of its range", () => {
    expect([...SPECIAL_V4, ...SPECIAL_V6].filter((address) => mayCall(address, nothing))).toEqual([]);
  });

  it("[W-18] the neighbours of those ranges are public and may be called", () => {
    expect(PUBLIC.filter((address) => !mayCall(address, nothing))).toEqual([]);
  });

  it("[W-18] what is not an address is refused, whatever is open", () => {
    const texts = [
      "",
      "localhost",
      "127.1",
      "0x7f.1",
      "010.0.0.1",
      "2130706433",
      "fe80::1%eth0",
      "8.8.8.8 ",
      "[::1]",
    ];
    expect(texts.filter((text) => mayCall(text, opened("0.0.0.0/0", "::/0")))).toEqual([]);
  });

  it("[W-18] an IPv4 address is judged the same inside every IPv6 form that carries it", () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const v4 = [a, b, c, d].join(".");
        const every = opened("::/0");
        const forms = [
          `::ffff:${v4}`,
          `64:ff9b::${v4}`,
          `2002:${hex(a, b)}:${hex(c, d)}::1`,
          `2600::5efe:${v4}`,
          `2001:0:${hex(a, b)}:${hex(c, d)}:0:0:f7f7:f7f7`,
          `2001:0:808:808:0:0:${hex(~a & 0xff, ~b & 0xff)}:${hex(~c & 0xff, ~d & 0xff)}`,
        ];
        // Opened all of IPv6, and nothing of IPv4: only what is carried inside decides.
        expect(forms.map((form) => mayCall(form, every))).toEqual(forms.map(() => mayCall(v4, nothing)));
        expect(forms.filter((form) => !form.startsWith("2600") && mayCall(form, nothing))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("[W-18] a network opens by its CIDR, and nothing beside it", () => {
    const open = opened("10.1.0.0/16", "fd12:3456::/32", "127.0.0.1");
    const may = (address: string) => mayCall(address, open);
    expect(
      ["10.1.0.0", "10.1.255.255", "fd12:3456::1", "127.0.0.1", "::ffff:10.1.2.3"].map(may),
    ).not.toContain(false);
    expect(
      ["10.0.255.255", "10.2.0.0", "fd12:3457::1", "127.0.0.2", "::ffff:10.2.0.1", "::1"].map(may),
    ).not.toContain(true);
  });

  it("[W-18] addresses of cloud metadata stay shut inside an opened network, and open when listed themselves", () => {
    const wide = opened("169.254.0.0/16", "100.64.0.0/10", "fc00::/7", "fe80::/10", "0.0.0.0/0", "::/0");
    const metadata = [
      "169.254.169.254",
      "169.254.170.2",
      "100.100.100.200",
      "168.63.129.16",
      "fd00:ec2::254",
      "fe80::a9fe:a9fe",
    ];
    for (const address of [...metadata, "::ffff:169.254.169.254", "64:ff9b::169.254.169.254"]) {
      expect([address, mayCall(address, wide)]).toEqual([address, false]);
    }
    for (const address of metadata)
      expect([address, mayCall(address, opened(address))]).toEqual([address, true]);
    expect(mayCall("169.254.7.7", wide)).toBe(true);
  });

  it("[W-18] what is no network is refused as an option", () => {
    const entries = [
      "10.0.0.0/33",
      "::/129",
      "10.0.0/8",
      "localhost",
      "10.0.0.0/",
      "*",
      "",
      "fe80::1%eth0/64",
      "10.0.0.0/8 ",
    ];
    for (const entry of entries) {
      expect(() => opened(entry)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }) as Error);
    }
  });
});

function hex(high: number, low: number): string {
  return ((high << 8) | low).toString(16);
}

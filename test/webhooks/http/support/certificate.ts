/**
 * A self-signed certificate, made when it is needed: no key lies in the repository, and none expires. Only the few
 * pieces of DER are written that a certificate must have.
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { isIP } from "node:net";

export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
}

/** For these names and IPv4 addresses. */
export function selfSigned(...names: readonly string[]): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = der(0x30, der(0x06, hex("2a8648ce3d040302")));
  const subject = der(
    0x30,
    der(0x31, der(0x30, der(0x06, hex("550403")), der(0x0c, Buffer.from("amends test")))),
  );
  const alternatives = names.map((name) =>
    isIP(name) === 4 ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name)),
  );
  const extension = der(0x30, der(0x06, hex("551d11")), der(0x04, der(0x30, ...alternatives)));
  const content = der(
    0x30,
    der(0xa0, der(0x02, hex("02"))), // version 3
    der(0x02, hex("01")), // serial number
    ecdsaWithSha256,
    subject,
    der(0x30, der(0x18, Buffer.from("20200101000000Z")), der(0x18, Buffer.from("21200101000000Z"))),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, extension)),
  );
  const signature = der(0x03, hex("00"), sign("sha256", content, privateKey));
  const lines = der(0x30, content, ecdsaWithSha256, signature)
    .toString("base64")
    .replaceAll(/(.{64})/g, "$1\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x1_00 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function hex(text: string): Buffer {
  return Buffer.from(text, "hex");
}

import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** PEM texts of a certificate and its key. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

const HOUR_MS = 3_600_000;

/** Makes certificates that nobody outside of a test trusts, good for an hour. For tests. */
export class TestAuthority {
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #name = `test authority ${randomBytes(4).toString("hex")}`;
  /** The certificate to trust, PEM. */
  readonly cert: string;

  constructor() {
    // Basic constraints: an authority.
    const extensions = [extension("2.5.29.19", true, sequence(der(0x01, [0xff])))];
    this.cert = this.#certificate(this.#name, this.#keys.publicKey, extensions);
  }

  /**
   * For a server of that DNS name.
   *
   * @param endsInMs when it ends to be good; below 0: it has been for so long
   */
  issue(dnsName: string, endsInMs = HOUR_MS): TestCertificate {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const names = sequence(der(0x82, Buffer.from(dnsName)));
    const cert = this.#certificate(
      dnsName,
      publicKey,
      [extension("2.5.29.17", false, names)],
      endsInMs,
    );
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    return { cert, key };
  }

  #certificate(
    subject: string,
    publicKey: KeyObject,
    extensions: Buffer[],
    endsInMs = HOUR_MS,
  ): string {
    const ecdsaWithSha256 = sequence(objectId("1.2.840.10045.4.3.2"));
    const content = sequence(
      der(0xa0, der(0x02, [2])), // version 3
      der(0x02, [1, ...randomBytes(8)]),
      ecdsaWithSha256,
      commonName(this.#name),
      sequence(time(Date.now() - HOUR_MS), time(Date.now() + endsInMs)),
      commonName(subject),
      Buffer.from(publicKey.export({ type: "spki", format: "der" })),
      der(0xa3, sequence(...extensions)),
    );
    const signature = sign("sha256", content, this.#keys.privateKey);
    const whole = sequence(content, ecdsaWithSha256, der(0x03, [0, ...signature]));
    const lines = whole.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
    return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
  }
}

function der(tag: number, content: Iterable<number>): Buffer {
  const bytes = Buffer.from([...content]);
  if (bytes.length < 0x80) return Buffer.from([tag, bytes.length, ...bytes]);
  if (bytes.length < 0x100) return Buffer.from([tag, 0x81, bytes.length, ...bytes]);
  return Buffer.from([tag, 0x82, bytes.length >> 8, bytes.length & 0xff, ...bytes]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const number of others) {
    const groups = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, bytes);
}

function commonName(name: string): Buffer {
  const attribute = sequence(objectId("2.5.4.3"), der(0x0c, Buffer.from(name)));
  return sequence(der(0x31, attribute));
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().slice(2).replace(/[-:T]|\.\d+/g, "");
  return der(0x17, Buffer.from(text));
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [der(0x01, [0xff])] : [];
  return sequence(objectId(id), ...critical, der(0x04, value));
}

/** The certificate with which this process shows itself to its peers. */
import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { Fingerprint } from "./data_channel_sdp.ts";

/** A key and its self-signed certificate. */
export interface OwnCertificate {
  readonly fingerprint: Fingerprint;
  /** The certificate, DER. */
  readonly der: Buffer;
  readonly key: KeyObject;
}

const SUBJECT = "machine";
const DAY_MS = 24 * 60 * 60_000;
/** As long as a process runs at most, and for clocks that are behind. */
const VALID_MS = { before: DAY_MS, after: 10 * 365 * DAY_MS };

// Tags of DER (X.690) and identifiers of X.509 (RFC 5280).
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const IDENTIFIER = 0x06;
const UTF8 = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
const VERSION = 0xa0;
const ECDSA_WITH_SHA256 = "2a8648ce3d040302";
const COMMON_NAME = "550403";

/**
 * Makes a new key on the curve P-256, which every peer knows. A library takes 350 KB and 60 ms for
 * the certificate of it, which has no more than this.
 */
export function createCertificate(): OwnCertificate {
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(SEQUENCE, der(IDENTIFIER, Buffer.from(ECDSA_WITH_SHA256, "hex")));
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, der(IDENTIFIER, Buffer.from(COMMON_NAME, "hex")), text(UTF8, SUBJECT))),
  );
  const now = Date.now();
  const body = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.from([2]))),
    // A number that begins with 0 bits is negative with another first byte, or too long.
    der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    der(SEQUENCE, time(now - VALID_MS.before), time(now + VALID_MS.after)),
    name,
    publicKey.export({ format: "der", type: "spki" }),
  );
  const signature = Buffer.concat([Buffer.of(0), sign("sha256", body, key)]);
  const certificate = der(SEQUENCE, body, algorithm, der(BIT_STRING, signature));
  const digest = createHash("sha256").update(certificate).digest("hex").toUpperCase();
  const value = (digest.match(/../g) ?? []).join(":");
  return { fingerprint: { algorithm: "sha-256", value }, der: certificate, key };
}

/** A value with its tag and length. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  const head = length < 0x80
    ? [tag, length]
    : length < 0x100
    ? [tag, 0x81, length]
    : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), value]);
}

function text(tag: number, value: string): Buffer {
  return der(tag, Buffer.from(value));
}

/** Times from 2050 on have four digits of the year. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return digits < "2050" ? text(UTC_TIME, digits.slice(2)) : text(GENERALIZED_TIME, digits);
}

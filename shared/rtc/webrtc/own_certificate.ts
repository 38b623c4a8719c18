/** The certificate with which this process shows itself to its peers. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import {
  CipherContext,
  HashAlgorithm,
  NamedCurveAlgorithm,
  SignatureAlgorithm,
  type SignatureHash,
} from "werift";
import type { Fingerprint } from "./data_channel_sdp.ts";

/** A key and its self-signed certificate. */
export interface OwnCertificate {
  readonly fingerprint: Fingerprint;
  /** As werift wants them. */
  readonly keys: {
    readonly cert: string;
    readonly key: string;
    readonly signatureHash: SignatureHash;
  };
}

/** Makes a new key on the curve P-256, which every peer knows. */
export async function createCertificate(): Promise<OwnCertificate> {
  const { certPem, keyPem, signatureHash } = await CipherContext.createSelfSignedCertificateWithKey(
    { signature: SignatureAlgorithm.ecdsa_3, hash: HashAlgorithm.sha256_4 },
    NamedCurveAlgorithm.secp256r1_23,
  );
  const der = Buffer.from(certPem.replace(/-----[^-]+-----|\s/g, ""), "base64");
  const digest = createHash("sha256").update(der).digest("hex").toUpperCase();
  const value = (digest.match(/../g) ?? []).join(":");
  return {
    fingerprint: { algorithm: "sha-256", value },
    keys: { cert: certPem, key: keyPem, signatureHash },
  };
}

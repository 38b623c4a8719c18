import * as x509 from "@peculiar/x509";
import type { TlsPair } from "../tls/pair.ts";

const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;

/** A certificate that nobody trusts, to listen with until the first real one is there. */
export async function placeholderPair(names: readonly string[], now: Date): Promise<TlsPair> {
  const keys = await crypto.subtle.generateKey(EC, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${names[0]?.slice(0, 64)}`,
    keys,
    notBefore: new Date(now.getTime() - DAY_MS),
    notAfter: new Date(now.getTime() + DAY_MS),
    signingAlgorithm: EC,
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: "dns", value }) as const),
      ),
    ],
  });
  const key = new Uint8Array(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toBase64();
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
  };
}

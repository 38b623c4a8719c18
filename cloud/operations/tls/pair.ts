import { createPrivateKey, X509Certificate } from "node:crypto";

/** Certificate with its chain and key, PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** What a certificate says, as far as a server is concerned. */
export interface PairFacts {
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Whether it is for a host name or an IP address. */
  covers(host: string): boolean;
}

/** A certificate and its key that cannot be used together. */
class TlsPairError extends Error {
  override readonly name = "TlsPairError";
}

const DAY_MS = 86_400_000;
/**
 * A certificate that ends sooner is reported to the operator: ACME and most others renew at 30
 * days.
 */
export const ENDS_SOON_MS = 14 * DAY_MS;

/** Looks at a certificate and its key. @throws {TlsPairError} */
export function inspectPair({ cert, key }: TlsPair): PairFacts {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (error) {
    throw new TlsPairError("the certificate is no certificate in PEM", { cause: error });
  }
  let isItsKey: boolean;
  try {
    isItsKey = certificate.checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    throw new TlsPairError("the key is no private key in PEM without a password", { cause: error });
  }
  if (!isItsKey) throw new TlsPairError("the key is not that of the certificate");
  return {
    notBefore: new Date(certificate.validFrom),
    notAfter: new Date(certificate.validTo),
    covers: (host) =>
      (/^[\d.]+$|:/.test(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !==
        undefined,
  };
}

/** "ends in 3 days", "ended 2026-01-02". */
export function describeEnd(notAfter: Date, now: Date): string {
  const days = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS);
  const date = notAfter.toISOString().slice(0, 10);
  return days < 0 ? `ended ${date}` : `ends ${date}, in ${days} ${days === 1 ? "day" : "days"}`;
}

/** Standard Webhooks: https://www.standardwebhooks.com */
import { createHmac } from "node:crypto";

/** What stands before the base64 of a signing secret. */
const SECRET_PREFIX = "whsec_";

/** A signing secret as receivers are given it. */
export function formatSigningSecret(secret: Uint8Array): string {
  return `${SECRET_PREFIX}${secret.toBase64()}`;
}

/**
 * The headers that let a receiver see who sent a request, that it is new and whether it came before.
 * With several secrets, while one replaces another, each signs.
 *
 * @param id the same whenever the same notification is sent again
 */
export function signedHeaders(
  secrets: readonly Uint8Array[],
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) =>
    `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`
  );
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

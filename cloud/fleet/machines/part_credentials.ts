import type { CredentialVerifiers } from "../../accounts/access/verifiers.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { partPlace, Scope } from "../../accounts/access/scope.ts";
import type { SharedSecrets } from "../../accounts/access/secrets.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { hostPort } from "../../api/addresses/addresses.ts";
import type { CredentialsAnswer } from "../../api/http/routes.ts";

export interface PartCredentialsOptions {
  readonly queries: Queries;
  readonly callers: Callers;
  readonly verifiers: CredentialVerifiers;
  readonly secrets: SharedSecrets;
  readonly publicUrl: () => string;
}

/** What a machine's programs need to sign in: the content of `/etc/machine.json`. */
export function credentialsFile(publicUrl: string, partId: string, secret: string) {
  // Servers of the family add no port of their own.
  const { protocol } = new URL(publicUrl);
  return { cloud: { app_address: `${protocol}//${hostPort(publicUrl)}`, id: partId, secret } };
}

/** Gives a part's credentials file to the holder of an API key that manages the part. */
export function partCredentials(options: PartCredentialsOptions) {
  const { queries, callers, verifiers, secrets, publicUrl } = options;
  return async (
    asked: { keyId: string; key: string; partId: string },
  ): Promise<CredentialsAnswer> => {
    const identity = await verifiers.byType["api-key"](asked.keyId, asked.key);
    if (!identity) return { kind: "wrong-key" };
    const scope = new Scope(queries, await callers.of(identity));
    const part = await scope.parts().selectAll("parts").where("parts.id", "=", asked.partId)
      .executeTakeFirst();
    const [secret] = part ? await secrets.ofPart(part.id) : [];
    if (!part || !secret) return { kind: "no-such-part" };
    if (!scope.allows("manage", partPlace(part))) return { kind: "not-allowed" };
    return { kind: "found", credentials: credentialsFile(publicUrl(), part.id, secret.value) };
  };
}

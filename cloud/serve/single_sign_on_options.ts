import { UsageError } from "../../shared/base/flags/flags.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import { isLoopback } from "../api/addresses/addresses.ts";
import { readSecretFile } from "./secret_file.ts";
import type { ServeFlags } from "./serve_flags.ts";

/**
 * Single sign-on as the command line requests it; undefined: not at all.
 *
 * @throws {UsageError} for what does not go together; {FileError} for a secret that cannot be read
 */
export async function singleSignOnOf(
  flags: ServeFlags,
): Promise<SingleSignOnSettings | undefined> {
  const issuer = flags["oidc-issuer"];
  const clientId = flags["oidc-client-id"];
  const secretFile = flags["oidc-client-secret-file"];
  if (issuer === undefined) {
    const without = clientId ?? secretFile ?? flags["oidc-name"] ?? flags["oidc-domain"][0];
    if (without === undefined && !flags["oidc-trust-second-factor"]) return undefined;
    throw new UsageError("options that begin with --oidc- need --oidc-issuer");
  }
  if (!clientId) throw new UsageError("--oidc-issuer needs --oidc-client-id");
  const url = URL.parse(issuer);
  const isPlain = url?.protocol === "http:" && isLoopback({ hostname: url.hostname, port: 0 });
  if (!url || !(url.protocol === "https:" || isPlain) || url.username || url.search || url.hash) {
    throw new UsageError(
      `--oidc-issuer: ${
        JSON.stringify(issuer)
      } is no issuer; write its https:// address (http:// ` +
        "on this host only)",
    );
  }
  for (const domain of flags["oidc-domain"]) {
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(domain)) {
      throw new UsageError(
        `--oidc-domain: ${JSON.stringify(domain)} is no domain; write it in lower case, without @`,
      );
    }
  }
  return {
    issuer,
    clientId,
    clientSecret: secretFile === undefined
      ? undefined
      : await readSecretFile("--oidc-client-secret-file", secretFile),
    name: flags["oidc-name"],
    domains: flags["oidc-domain"],
    trustsSecondFactor: flags["oidc-trust-second-factor"],
  };
}

import { toError } from "../../base/errors/to_error.ts";

/** Which certificate authorities a program trusts. */

/** The runtime reads it when it first needs a certificate: stores, separated by commas. */
const STORES = "DENO_TLS_CA_STORE";
/** What replaces the system's store, as in other programs: a file of PEM texts, and folders of such. */
const OWN_FILE = "SSL_CERT_FILE", OWN_FOLDER = "SSL_CERT_DIR";

/** The variables of a process. */
export interface Variables {
  get(name: string): string | undefined;
  set(name: string, value: string): void;
}

/**
 * Lets a program trust what the host trusts: the authorities in the system's store, or those in
 * `SSL_CERT_FILE` and `SSL_CERT_DIR` where these are set, next to the runtime's built-in ones. Has
 * to come before the first connection. Does nothing where `DENO_TLS_CA_STORE` says what to trust.
 *
 * @param warn gets one line when a variable names what cannot be read; with that the runtime would
 *   refuse every connection, so only the built-in authorities are trusted then.
 */
export function trustSystemCertificates(warn: (line: string) => void, env: Variables = Deno.env) {
  if (env.get(STORES)) return;
  const problem = unreadable(env);
  if (problem === undefined) env.set(STORES, "system,mozilla");
  else warn(`${problem}; certificates are checked against the built-in authorities only`);
}

function unreadable(env: Variables): string | undefined {
  const file = env.get(OWN_FILE);
  if (file) {
    const problem = attempt(() => void Deno.readFileSync(file));
    if (problem !== undefined) return `${OWN_FILE} names ${file}, which cannot be read: ${problem}`;
  }
  // The separator of PATH.
  const between = Deno.build.os === "windows" ? ";" : ":";
  for (const folder of env.get(OWN_FOLDER)?.split(between).filter(Boolean) ?? []) {
    const problem = attempt(() => void [...Deno.readDirSync(folder)]);
    if (problem !== undefined) {
      return `${OWN_FOLDER} names ${folder}, which cannot be read: ${problem}`;
    }
  }
}

/** Why it fails; undefined when it does not. */
function attempt(read: () => void): string | undefined {
  try {
    read();
  } catch (error) {
    return toError(error).message;
  }
}

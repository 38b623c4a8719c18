/** What is shown where a secret stands. */
export const SECRET_MASK = "******";

const SECRET_WORDS = new Set([
  "password",
  "passwd",
  "passphrase",
  "psk",
  "secret",
  "secrets",
  "token",
  "payload",
  "apikey",
  "credential",
  "credentials",
]);
// Words before `key` that make it a secret; `tls_key_file` and `maintenance_allowed_key` are none.
const KEY_KINDS = new Set(["api", "private", "access", "secret", "encryption", "auth", "account"]);
const MAPS_OF_SECRETS = new Set(["env", "machine_server_env", "viam_server_env"]);
const USER_INFO = /(:\/\/)[^/?#\s@]+@/g;

/** True for keys that hold a password, key, token or the like: `psk`, `apiKey`, `client_secret`. */
export function isSecretKey(key: string): boolean {
  if (key === "key") return true;
  const words = key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z0-9]+/);
  const last = words.at(-1) ?? "";
  if (SECRET_WORDS.has(last)) return true;
  return last === "key" && KEY_KINDS.has(words.at(-2) ?? "");
}

/** Hides user and password of URLs in a text. */
export function maskText(text: string): string {
  return text.replace(USER_INFO, `$1${SECRET_MASK}@`);
}

/**
 * A copy of a configuration, or of a part of it, with every secret replaced by `******`.
 *
 * @param key the key `value` stands under, when it is a part
 */
export function maskSecrets(value: unknown, key = ""): unknown {
  if (isSecretKey(key)) return maskAll(value);
  if (MAPS_OF_SECRETS.has(key)) return maskAll(value);
  if (typeof value === "string") return maskText(value);
  if (Array.isArray(value)) {
    return value.map((item) => maskSecrets(item, key === "handlers" ? "handler" : ""));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      key === "handler" && name === "config" ? maskKeyList(item) : maskSecrets(item, name),
    ]),
  );
}

/** Masks what an API-key handler holds: ids may be seen, keys not. */
function maskKeyList(config: unknown): unknown {
  if (typeof config !== "object" || config === null) return maskAll(config);
  return Object.fromEntries(
    Object.entries(config).map((
      [id, item],
    ) => [id, id === "keys" ? item : maskAll(item)]),
  );
}

/** Masks every value but ids, keeping the form. */
function maskAll(value: unknown): unknown {
  if (value === undefined || value === null || value === "") return value;
  if (Array.isArray(value)) return value.map(maskAll);
  if (typeof value !== "object") return SECRET_MASK;
  return Object.fromEntries(
    Object.entries(value).map((
      [name, item],
    ) => [name, name === "id" || name === "type" ? item : maskAll(item)]),
  );
}

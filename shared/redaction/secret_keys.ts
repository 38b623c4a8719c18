/** What is shown where a secret stands. */
export const SECRET_MASK = "******";

const SECRET_WORDS = new Set([
  "password",
  "passwords",
  "passwd",
  "passphrase",
  "psk",
  "secret",
  "secrets",
  "token",
  "tokens",
  "payload",
  "apikey",
  "credential",
  "credentials",
  "authorization",
  "cookie",
]);
// Words before `key` that make it a secret; `tls_key_file` and `maintenance_allowed_key` are none.
const KEY_KINDS = new Set(["api", "private", "access", "secret", "encryption", "auth", "account"]);

/** True for keys that hold a password, key, token or the like: `psk`, `apiKey`, `client_secret`. */
export function isSecretKey(key: string): boolean {
  if (key === "key") return true;
  const words = key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z0-9]+/);
  const last = words.at(-1) ?? "";
  if (SECRET_WORDS.has(last)) return true;
  return last === "key" && KEY_KINDS.has(words.at(-2) ?? "");
}

const USER_INFO = /(:\/\/)[^/?#\s@]+@/g;

/** Hides user and password of URLs in a text. */
export function maskUserInfo(text: string): string {
  return text.includes("://") ? text.replace(USER_INFO, `$1${SECRET_MASK}@`) : text;
}

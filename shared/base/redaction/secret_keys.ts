/** What is shown where a secret stands. */
export const SECRET_MASK = "******";

const SECRET_WORDS = new Set([
  "password",
  "passwords",
  "passwd",
  "pwd",
  "pass",
  "pin",
  "jwt",
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
const KEY_KINDS = new Set(
  ["api", "private", "access", "secret", "encryption", "auth", "account", "ssh", "signing"]
    .concat(["session", "master", "deploy", "license", "hmac", "shared", "preshared", "wpa"]),
);

/** Words that also mean something else, and which values under them are secret. */
const AMBIGUOUS: Readonly<Record<string, (value: unknown) => boolean>> = {
  // Boards have pins as well: 37, "GPIO17".
  pin: (value) => /^\d{4,12}$/.test(String(value)),
  // A filter is low_pass, and a log counts passes.
  pass: (value) => typeof value === "string" && !/^-?\d{0,3}(\.\d+)?$/.test(value),
  // A shell's folder.
  pwd: (value) => typeof value === "string" && !/^([A-Za-z]:)?[/\\]/.test(value),
};

/**
 * True for keys that hold a password, key, token or the like: `psk`, `apiKey`, `client_secret`.
 *
 * @param value what stands there; with it `pin: 17` is not taken for a secret.
 */
export function isSecretKey(key: string, value?: unknown): boolean {
  if (key === "key") return true;
  const words = key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z0-9]+/);
  const last = words.at(-1) ?? "";
  if (SECRET_WORDS.has(last)) return value === undefined || (AMBIGUOUS[last]?.(value) ?? true);
  return last === "key" && KEY_KINDS.has(words.at(-2) ?? "");
}

const USER_INFO = /(:\/\/)[^/?#\s@]+@/g;

/** Hides user and password of URLs in a text. */
export function maskUserInfo(text: string): string {
  return text.includes("://") ? text.replace(USER_INFO, `$1${SECRET_MASK}@`) : text;
}

import { maskArgumentList } from "../base/redaction/arguments.ts";
import { Redactor } from "../base/redaction/redactor.ts";
import { isSecretKey, SECRET_MASK } from "../base/redaction/secret_keys.ts";

export { isSecretKey, SECRET_MASK } from "../base/redaction/secret_keys.ts";

/** Knows no values: what is a secret by its form is hidden. */
const REDACTOR = new Redactor();
const MAPS_OF_SECRETS = new Set(["env", "machine_server_env", "viam_server_env"]);

/**
 * A copy of a configuration, or of a part of it, with every secret replaced by `******`.
 *
 * @param key the key `value` stands under, when it is a part
 */
export function maskSecrets(value: unknown, key = ""): unknown {
  if (isSecretKey(key, value)) return maskAll(value);
  if (MAPS_OF_SECRETS.has(key)) return maskAll(value);
  if (typeof value === "string") return REDACTOR.text(value);
  if (Array.isArray(value)) {
    return maskArgumentList(value).map((item) =>
      maskSecrets(item, key === "handlers" ? "handler" : "")
    );
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

/**
 * Every text in a configuration that is a secret, for a log that must not show it. Of environment
 * variables only those with the name of a secret: the others are paths and switches.
 */
export function secretValues(value: unknown, key = ""): string[] {
  if (typeof value === "string") return isSecretKey(key, value) ? [value] : [];
  if (Array.isArray(value)) {
    return value.flatMap((item) => secretValues(item, key === "handlers" ? "handler" : key));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (name === "id" || name === "type" || name === "keys") return [];
    if (key === "handler" && name === "config") return secretValues(item, "secret");
    // Everything under a secret's name is secret: `api_key: { id, key }`.
    return secretValues(item, isSecretKey(key) ? key : name);
  });
}

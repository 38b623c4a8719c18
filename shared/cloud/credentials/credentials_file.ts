import { isJsonObject } from "../../base/json/json.ts";
import { Secret } from "../../base/redaction/secret.ts";
import type { CloudCredentials } from "../auth/cloud_credentials.ts";
import { fsErrorCode, toFileError } from "../../base/files/fs_error.ts";
import { JsoncError, type JsonValue, parseJsonc } from "../../base/files/jsonc.ts";
import { isSecureAddress } from "./secure_address.ts";

/** How this machine reaches its cloud and proves which part it is. */
export interface MachineCredentials {
  /** `https://host:port`, or `http://host:port` for plaintext; without path or final slash. */
  readonly appAddress: string;
  readonly partId: string;
  readonly credentials: CloudCredentials;
}

/** What {@link readCredentialsFile} found. */
export interface CredentialsFile extends MachineCredentials {
  /** What the operator should fix, each one line. */
  readonly warnings: readonly string[];
}

export interface CredentialsOptions {
  /** Accept an `http://` address that is not this host. Default false. */
  readonly allowInsecure?: boolean;
}

/** The credentials are not usable. One line: which file, what is wrong, what to do. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
  /** `missing`: there is no file; `unreadable`: it cannot be read; `invalid`: its content. */
  readonly code: "missing" | "unreadable" | "invalid";

  constructor(code: CredentialsError["code"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

const FORM = '{"cloud":{"app_address":"https://HOST:PORT","id":"PART_ID","secret":"…"}}';

/**
 * Reads the credentials file, `/etc/machine.json` by default: JSON, comments allowed, with a
 * `cloud` object of `app_address`, `id` and either `secret` or `api_key: {id, key}`. When both
 * are there the API key is used.
 *
 * @throws {CredentialsError}
 */
export async function readCredentialsFile(
  path: string,
  options: CredentialsOptions = {},
): Promise<CredentialsFile> {
  const text = await readText(path);
  const found = parseCredentials(parseText(text, path), path, options);
  return { ...found, warnings: await modeWarnings(path) };
}

/**
 * The same from JSON that is already read: a full configuration with a `cloud` object, say.
 *
 * @param where the file, for errors.
 * @throws {CredentialsError}
 */
export function parseCredentials(
  json: unknown,
  where: string,
  options: CredentialsOptions = {},
): MachineCredentials {
  const fail = (problem: string): never => {
    throw new CredentialsError("invalid", `${where}: ${problem}`);
  };
  const cloud = isJsonObject(json) ? json["cloud"] : undefined;
  if (!isJsonObject(cloud)) return fail(`there is no "cloud" object; expected ${FORM}`);
  const text = (object: JsonObject, name: string, path: string): string => {
    const value = object[name];
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    return fail(
      `"${path}" ${value === undefined ? "is missing" : "must be a text that is not empty"}`,
    );
  };
  const partId = text(cloud, "id", "cloud.id");
  const appAddress = parseAddress(text(cloud, "app_address", "cloud.app_address"), options, fail);
  return { appAddress, partId, credentials: parseProof(cloud, partId, text, fail) };
}

type JsonObject = Readonly<Record<string, unknown>>;
type Fail = (problem: string) => never;

function parseProof(
  cloud: JsonObject,
  partId: string,
  text: (object: JsonObject, name: string, path: string) => string,
  fail: Fail,
): CloudCredentials {
  const apiKey = cloud["api_key"];
  if (apiKey !== undefined && apiKey !== null) {
    if (!isJsonObject(apiKey)) return fail('"cloud.api_key" must be an object of "id" and "key"');
    const entity = text(apiKey, "id", "cloud.api_key.id");
    return {
      type: "api-key",
      entity,
      payload: new Secret(text(apiKey, "key", "cloud.api_key.key")),
    };
  }
  if (cloud["secret"] === undefined) {
    return fail('either "cloud.secret" or "cloud.api_key" with "id" and "key" is needed');
  }
  const payload = new Secret(text(cloud, "secret", "cloud.secret"));
  return { type: "robot-secret", entity: partId, payload };
}

function parseAddress(address: string, options: CredentialsOptions, fail: Fail): string {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    return fail('"cloud.app_address" must look like https://HOST:PORT');
  }
  if (url.username || url.password || url.search || url.hash || url.pathname !== "/") {
    return fail('"cloud.app_address" must hold only the scheme, host and port: https://HOST:PORT');
  }
  if (!options.allowInsecure && !isSecureAddress(url.origin)) {
    return fail(
      `"cloud.app_address" is ${url.origin}: http:// would send the credentials in clear and is ` +
        "accepted only for this host; use https://",
    );
  }
  return url.origin;
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const code = fsErrorCode(error) === "ENOENT" ? "missing" : "unreadable";
    const { message } = toFileError(error, "read the credentials file", path);
    throw new CredentialsError(code, message, error);
  }
}

function parseText(text: string, path: string): JsonValue {
  try {
    return parseJsonc(text);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new CredentialsError("invalid", `${path}: not JSON: ${error.message}`, error);
  }
}

async function modeWarnings(path: string): Promise<string[]> {
  if (Deno.build.os === "windows") return [];
  const mode = (await Deno.stat(path)).mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return [`${path} can be read by other users (mode ${shown}); run: chmod 600 ${path}`];
}

import { join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { JsoncError, type JsonValue, parseJsonc } from "../../shared/base/files/jsonc.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { isSecureAddress } from "../../shared/cloud/credentials/secure_address.ts";

/** Where a device requests credentials, and with which enrollment token. */
export interface EnrollmentSettings {
  /** `https://host:port`, without path or final slash. */
  readonly appAddress: string;
  readonly token: string;
}

/** Settings for enrollment cannot be used. One line: what is wrong and where. */
export class EnrollmentSettingsError extends Error {
  override readonly name = "EnrollmentSettingsError";
}

const FORM = '{"app_address": "https://HOST:PORT", "token": "…"}';

/** @throws {EnrollmentSettingsError} @param where what is named in errors */
export function parseEnrollment(value: JsonValue | undefined, where: string): EnrollmentSettings {
  const fail = (problem: string): never => {
    throw new EnrollmentSettingsError(`${where}: ${problem}`);
  };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return fail(`expected ${FORM}`);
  }
  const { app_address: address, token } = value;
  if (typeof token !== "string" || !/^[\x21-\x7e]{1,128}$/.test(token)) {
    return fail(`"token" is missing or is no enrollment token; expected ${FORM}`);
  }
  const url = typeof address === "string" ? URL.parse(address.trim()) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search || url.hash) {
    return fail(`"app_address" must look like https://HOST:PORT`);
  }
  if (!isSecureAddress(url.origin)) {
    return fail(
      `"app_address" is ${url.origin}: http:// would send the token in clear and is accepted ` +
        "only for this host; use https://",
    );
  }
  return { appAddress: url.origin, token };
}

/** In the agent's folder: what `--install` was given. */
function enrollmentFile(dir: string): string {
  return join(dir, "etc", "enrollment.json");
}

/** What `--install` was given; undefined: nothing. @throws {EnrollmentSettingsError | FileError} */
export async function readEnrollmentFile(dir: string): Promise<EnrollmentSettings | undefined> {
  const path = enrollmentFile(dir);
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  try {
    return parseEnrollment(parseJsonc(text), path);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new EnrollmentSettingsError(`${path}: not JSON: ${error.message}`);
  }
}

/** Keeps settings for the service, which does not get the environment of the install. */
export async function writeEnrollmentFile(
  dir: string,
  { appAddress, token }: EnrollmentSettings,
): Promise<void> {
  const path = enrollmentFile(dir);
  await Deno.mkdir(join(dir, "etc"), { recursive: true, mode: 0o755 });
  const text = `${JSON.stringify({ app_address: appAddress, token }, null, 2)}\n`;
  await writeFileAtomic(path, text, { mode: 0o600 });
}

export async function removeEnrollmentFile(dir: string): Promise<void> {
  await removeIfExists(enrollmentFile(dir));
}

import { join } from "node:path";
import { generateEd25519Key, privateKeyToPem } from "../../../shared/cloud/auth/ed25519_key.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import { DerivedSecrets } from "./derived_secrets.ts";
import type { Random } from "./random.ts";

/** What `cloud.key` holds. */
export interface CloudKeys {
  readonly secrets: DerivedSecrets;
  /** Ed25519 key that signs access tokens, PKCS #8. */
  readonly tokenKeyPem: string;
}

/** `cloud.key` is there but cannot be used. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

const MASTER_BYTES = 32;

/**
 * Reads `cloud.key` of a data folder; makes it, readable by its owner only, when there is none.
 * Processes that start at the same moment end up with the same keys.
 */
export async function loadOrCreateKeys(dataDir: string, random: Random): Promise<CloudKeys> {
  const path = join(dataDir, "cloud.key");
  const text = await readIfExists(path) ?? await create(path, random);
  return parse(path, text);
}

/** Reads `cloud.key` of a data folder. @throws {KeyFileError} when there is none */
export async function loadKeys(dataDir: string): Promise<CloudKeys> {
  const path = join(dataDir, "cloud.key");
  const text = await readIfExists(path);
  if (text !== undefined) return parse(path, text);
  throw new KeyFileError(`${path} is missing; copy the one there that the cloud was served with`);
}

async function create(path: string, random: Random): Promise<string> {
  const text = JSON.stringify(
    {
      version: 1,
      master_secret: random.bytes(MASTER_BYTES).toBase64(),
      token_key: await privateKeyToPem((await generateEd25519Key()).privateKey),
    },
    null,
    2,
  ) + "\n";
  const temporary = `${path}.${random.uuid()}.tmp`;
  try {
    await writeWhole(temporary, text);
    // A link, unlike a rename, fails when another process was faster; then its file counts.
    await Deno.link(temporary, path).catch((error) => {
      if (fsErrorCode(error) !== "EEXIST") throw error;
    });
    await Deno.remove(temporary);
    await syncFolder(join(path, ".."));
    return await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "create the key file", path);
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written));
  }
  await file.sync();
}

function parse(path: string, text: string): CloudKeys {
  const advice = `${path} is damaged; put it back from a backup. Without it no secret and no key ` +
    "of this cloud can be checked";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new KeyFileError(advice, { cause: error });
  }
  if (typeof value !== "object" || value === null) throw new KeyFileError(advice);
  const { master_secret: master, token_key: tokenKeyPem } = value as Record<string, unknown>;
  if (typeof master !== "string" || typeof tokenKeyPem !== "string") throw new KeyFileError(advice);
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(master);
  } catch (error) {
    throw new KeyFileError(advice, { cause: error });
  }
  if (bytes.length !== MASTER_BYTES) throw new KeyFileError(advice);
  return { secrets: new DerivedSecrets(bytes), tokenKeyPem };
}

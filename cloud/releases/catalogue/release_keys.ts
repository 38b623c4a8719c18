import { join } from "node:path";
import {
  generateEd25519Key,
  privateKeyFromPem,
  privateKeyToPem,
  publicKeyOf,
} from "../../../shared/cloud/auth/ed25519_key.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import { releaseKeyId, signReleaseKey } from "../../../shared/transfer/releases/manifest.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { KeyFileError } from "../../storage/keys/key_file.ts";

/** A key whose signatures on releases count. */
export interface ReleaseKey {
  readonly id: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** The key that vouches for it; empty for the first. */
  readonly signedBy: string;
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** The key that signs. */
export interface SigningKey {
  readonly id: string;
  readonly privateKey: CryptoKey;
}

type PrivateKeys = Readonly<Record<string, string>>;

/**
 * The keys that sign releases. The private halves lie in `release.key` of the data folder, next to
 * `cloud.key`, for its owner only; the public ones in the database. The first is made when it is
 * needed. A key is never made in place of one that was lost: machines would not take it.
 */
export class ReleaseKeys {
  readonly #path: string;

  constructor(
    dataDir: string,
    private readonly queries: Queries,
    private readonly clock: Clock,
  ) {
    this.#path = join(dataDir, "release.key");
  }

  /** All that count, oldest first; none when nothing was released yet. */
  async list(): Promise<ReleaseKey[]> {
    return await listKeys(this.queries);
  }

  /** The newest key; made when there is none. @throws {KeyFileError} or {FileError} */
  async signing(): Promise<SigningKey> {
    // The transaction keeps other processes from making another one at the same time.
    return await this.queries.transaction().execute((queries) => this.#signing(queries));
  }

  /**
   * Makes a new key that signs from now on; the one before vouches for it, so that machines that
   * know that one take it. Releases that are signed stay as they are.
   */
  async rotate(): Promise<SigningKey> {
    return await this.queries.transaction().execute(async (queries) => {
      const before = await this.#signing(queries);
      const { id, pem, publicKey, privateKey } = await newKey();
      const signature = await signReleaseKey(before.privateKey, publicKey);
      await this.#write({ ...await this.#read(), [id]: pem });
      faultPoint("releases.key.after-write");
      await this.#insert(queries, { id, publicKey, signedBy: before.id, signature });
      return { id, privateKey };
    });
  }

  async #signing(queries: Queries): Promise<SigningKey> {
    const known = (await listKeys(queries)).at(-1);
    const kept = await this.#read();
    if (known) return { id: known.id, privateKey: await this.#import(kept[known.id], known.id) };
    // A process that was killed here has written the file and not the row.
    const [left] = Object.entries(kept);
    const { id, privateKey, publicKey, pem } = left === undefined
      ? await newKey()
      : await keyOf(await this.#import(left[1], left[0]), left[1]);
    if (left === undefined) await this.#write({ [id]: pem });
    faultPoint("releases.key.after-write");
    await this.#insert(queries, { id, publicKey, signedBy: "", signature: new Uint8Array() });
    return { id, privateKey };
  }

  async #insert(queries: Queries, key: ReleaseKey): Promise<void> {
    await queries.insertInto("release_keys").values({
      id: key.id,
      public_key: key.publicKey.toBase64(),
      signed_by: key.signedBy,
      signature: key.signature.toBase64(),
      created_at: this.clock.now().getTime(),
    }).execute();
  }

  async #import(pem: string | undefined, id: string): Promise<CryptoKey> {
    if (pem === undefined) {
      throw new KeyFileError(
        `${this.#path} does not hold the release key ${id}; put the file back from a backup. ` +
          "Machines take only releases that are signed with it",
      );
    }
    try {
      return await privateKeyFromPem(pem);
    } catch (error) {
      throw this.#damaged(error);
    }
  }

  async #read(): Promise<PrivateKeys> {
    const text = await readIfExists(this.#path);
    if (text === undefined) return {};
    let keys: unknown;
    try {
      ({ keys } = JSON.parse(text));
    } catch (error) {
      throw this.#damaged(error);
    }
    if (!isTexts(keys)) throw this.#damaged();
    return keys;
  }

  async #write(keys: PrivateKeys): Promise<void> {
    await writeFileAtomic(this.#path, `${JSON.stringify({ version: 1, keys }, null, 2)}\n`);
  }

  #damaged(cause?: unknown): KeyFileError {
    const message = `${this.#path} is damaged; put it back from a backup. Without it no release ` +
      "can be signed that machines take";
    return new KeyFileError(message, { cause });
  }
}

async function listKeys(queries: Queries): Promise<ReleaseKey[]> {
  const rows = await queries.selectFrom("release_keys").selectAll().orderBy("seq").execute();
  return rows.map((row) => ({
    id: row.id,
    publicKey: Uint8Array.fromBase64(row.public_key),
    signedBy: row.signed_by,
    signature: Uint8Array.fromBase64(row.signature),
  }));
}

async function newKey() {
  const { privateKey } = await generateEd25519Key();
  return await keyOf(privateKey, await privateKeyToPem(privateKey));
}

async function keyOf(privateKey: CryptoKey, pem: string) {
  const exported = await crypto.subtle.exportKey("raw", await publicKeyOf(privateKey));
  const publicKey = new Uint8Array(exported);
  return { id: await releaseKeyId(publicKey), privateKey, publicKey, pem };
}

function isTexts(value: unknown): value is PrivateKeys {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === "string");
}

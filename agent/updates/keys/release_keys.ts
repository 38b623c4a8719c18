import type { ReleaseKey } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import {
  releaseKeyId,
  type ReleaseManifest,
  verifyRelease,
  verifyReleaseKey,
} from "../../../shared/transfer/releases/manifest.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Target } from "../updater/target.ts";

export interface ReleaseKeysOptions {
  readonly db: Database;
  /**
   * Public keys that the manufacturer's defaults file names, hexadecimal. With any, only they and
   * the keys that they vouch for count, and nothing is installed that they did not sign; without,
   * the first keys that the cloud names. Undefined: there may be some that cannot be read.
   */
  readonly fromDefaults: readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A key whose signatures count. */
interface TrustedKey {
  readonly id: string;
  readonly publicKey: Uint8Array;
}

interface KeyRow {
  readonly id: string;
  readonly public_key: string;
  readonly signed_by: string;
  readonly signature: string;
}

/**
 * The keys whose signatures on releases count. The first ones are trusted; from then on a key
 * counts when one that is trusted vouches for it, so that whoever gets hold of the cloud's
 * connection or of its files alone cannot bring a program to a machine.
 */
export class ReleaseKeys {
  readonly #options: ReleaseKeysOptions;
  #trusted: TrustedKey[] | undefined;
  #refused = "";

  constructor(options: ReleaseKeysOptions) {
    this.#options = options;
  }

  /** Takes the keys that the cloud names, as far as they can be trusted. */
  async learn(offered: readonly ReleaseKey[]): Promise<void> {
    // Without the first ones nothing determines whom to believe.
    if (this.#options.fromDefaults === undefined) return;
    const trusted = await this.#load();
    const fresh = offered.filter(({ publicKey }) => !trusted.some(isKey(publicKey)));
    if (fresh.length === 0) return;
    const isFirst = trusted.length === 0;
    const added = isFirst ? await withIds(fresh) : await vouchedFor(fresh, trusted);
    if (added.length > 0) {
      this.#save(added);
      this.#trusted = undefined;
      const ids = added.map(({ id }) => id);
      this.#options.log.info("release keys are trusted from now on", { ids, first: isFirst });
    }
    this.#reportRefused(fresh.filter((key) => !added.some(isKey(key.publicKey))));
  }

  /** Whether the defaults file says whose signatures count: then everything has to have one. */
  get arePinned(): boolean {
    return this.#options.fromDefaults?.length !== 0;
  }

  /** Why a target must not be installed; undefined when it may. */
  async problemOf(binary: string, target: Target): Promise<string | undefined> {
    const { version, platform = "", size = 0, sha256, signature = "", keyId = "" } = target;
    const what = version === "customURL" ? `${binary} by its address` : `${binary} ${version}`;
    const trusted = await this.#load();
    if (signature === "") return this.#unsignedProblem(what, version, trusted.length > 0);
    const key = trusted.find(({ id }) => id === keyId);
    if (!key) {
      return `${what} is signed with the key ${keyId}, which this machine does not trust`;
    }
    const manifest: ReleaseManifest = { binary, version, platform, size, sha256 };
    return await verifyRelease(key.publicKey, manifest, Uint8Array.fromHex(signature))
      ? undefined
      : `the signature of ${what} is wrong; it is refused`;
  }

  #unsignedProblem(what: string, version: string, hasKeys: boolean): string | undefined {
    if (this.#options.fromDefaults === undefined) {
      return `${what} is not signed, and the defaults file, which may name release_keys, cannot ` +
        "be read; it is refused until that is fixed";
    }
    if (this.arePinned) {
      return `${what} is not signed, and the defaults file has release_keys; it is refused`;
    }
    // An address that the configuration names is the operator's own word.
    if (version === "customURL" || !hasKeys) return undefined;
    return `${what} is not signed and is refused`;
  }

  /** Those of the defaults file, and what can be traced back to them; else all that are kept. */
  async #load(): Promise<TrustedKey[]> {
    if (this.#trusted) return this.#trusted;
    const { db, fromDefaults } = this.#options;
    const kept = db.prepare<[], KeyRow>(
      "SELECT id, public_key, signed_by, signature FROM release_keys ORDER BY learned_at, rowid",
    ).all().map(({ id, public_key, signed_by, signature }) => ({
      id,
      publicKey: Uint8Array.fromHex(public_key),
      signedBy: signed_by,
      signature: Uint8Array.fromHex(signature),
    }));
    if (fromDefaults === undefined) return this.#trusted = [];
    if (fromDefaults.length === 0) return this.#trusted = kept;
    const roots = await Promise.all(fromDefaults.map(async (hex) => {
      const publicKey = Uint8Array.fromHex(hex);
      return { id: await releaseKeyId(publicKey), publicKey };
    }));
    return this.#trusted = [...roots, ...await vouchedFor(kept, roots)];
  }

  #save(keys: readonly KeyFacts[]): void {
    const { db, clock } = this.#options;
    const insert = db.prepare(
      "INSERT OR REPLACE INTO release_keys (id, public_key, signed_by, signature, learned_at) " +
        "VALUES (?, ?, ?, ?, ?)",
    );
    const now = clock.now().toISOString();
    db.transaction(() => {
      for (const { id, publicKey, signedBy, signature } of keys) {
        insert.run(id, publicKey.toHex(), signedBy, signature.toHex(), now);
      }
    }).immediate();
  }

  #reportRefused(keys: readonly Pick<ReleaseKey, "id">[]): void {
    const ids = keys.map(({ id }) => id).join(", ");
    if (ids === this.#refused) return;
    this.#refused = ids;
    if (ids === "") return;
    this.#options.log.error(
      "the cloud names release keys that no trusted key vouches for; they are not used. To trust " +
        'them, write them under "release_keys" in the defaults file',
      { event: "release_keys_refused", ids },
    );
  }
}

type KeyFacts = Pick<ReleaseKey, "id" | "publicKey" | "signedBy" | "signature">;

/** Keys of the list that a trusted key vouches for, or one of them that is vouched for. */
async function vouchedFor(
  keys: readonly KeyFacts[],
  trusted: readonly TrustedKey[],
): Promise<KeyFacts[]> {
  const accepted: KeyFacts[] = [];
  for (let before = -1; before < accepted.length;) {
    before = accepted.length;
    for (const key of await withIds(keys)) {
      const by = [...trusted, ...accepted].find(({ id }) => id === key.signedBy);
      if (!by || accepted.some(isKey(key.publicKey))) continue;
      if (await verifyReleaseKey(by.publicKey, key.publicKey, key.signature)) accepted.push(key);
    }
  }
  return accepted;
}

/** A key's id is what its bytes give, not what somebody says. */
async function withIds(keys: readonly KeyFacts[]): Promise<KeyFacts[]> {
  const named = keys.filter(({ publicKey }) => publicKey.length === 32).map(async (key) => {
    const { publicKey, signedBy, signature } = key;
    return { id: await releaseKeyId(publicKey), publicKey, signedBy, signature };
  });
  return await Promise.all(named);
}

const isKey = (publicKey: Uint8Array) => (other: { readonly publicKey: Uint8Array }): boolean =>
  other.publicKey.toHex() === publicKey.toHex();

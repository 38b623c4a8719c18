import { createHash } from "node:crypto";
import { join } from "node:path";
import type { CloudDatabase } from "../database/cloud_database.ts";
import { readSetting, type SettingName, writeSetting } from "../database/settings.ts";
import { type CloudKeys, KeyFileError } from "../keys/key_file.ts";

/**
 * Binds a database to its key file: with another one every secret would silently be another. In
 * PostgreSQL also to the key of tokens: one node would refuse those of another.
 */
export async function requireMatchingKeys(
  { queries, engine, place }: Pick<CloudDatabase, "queries" | "engine" | "place">,
  keys: CloudKeys,
  dataDir: string,
): Promise<void> {
  const wanted: [SettingName, string][] = [["key_fingerprint", keys.secrets.fingerprint()]];
  if (engine === "postgres") {
    wanted.push(["token_key_fingerprint", fingerprintOf(keys.tokenKeyPem)]);
  }
  const isOwn = await queries.transaction().execute(async (transaction) => {
    const known = await Promise.all(wanted.map(([name]) => readSetting(transaction, name)));
    if (wanted.some(([, value], at) => (known[at] ?? value) !== value)) return false;
    for (const [at, [name, value]] of wanted.entries()) {
      if (known[at] === undefined) await writeSetting(transaction, name, value);
    }
    return true;
  });
  if (isOwn) return;
  throw new KeyFileError(
    engine === "sqlite"
      ? `cloud.key and cloud.db in ${dataDir} do not belong together: with this key every secret ` +
        "would be another one. Put the cloud.key back that was there when cloud.db was made"
      : `cloud.key in ${dataDir} is not that of the database ${place}: with it every secret would ` +
        "be another one. All processes that serve a database need the same key; copy the cloud.key " +
        `of the first one, or of a backup, to ${join(dataDir, "cloud.key")}`,
  );
}

function fingerprintOf(tokenKeyPem: string): string {
  return createHash("sha256").update(`token key\0${tokenKeyPem.trim()}`).digest("base64url");
}

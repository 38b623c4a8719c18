import type { Queries } from "../database/cloud_database.ts";
import { readSetting, writeSetting } from "../database/settings.ts";
import { type CloudKeys, KeyFileError } from "../keys/key_file.ts";

/** Binds a database to its key file: with another one every secret would silently be another. */
export async function requireMatchingKeys(
  queries: Queries,
  keys: CloudKeys,
  dataDir: string,
): Promise<void> {
  const fingerprint = keys.secrets.fingerprint();
  const known = await queries.transaction().execute(async (transaction) => {
    const known = await readSetting(transaction, "key_fingerprint");
    if (known === undefined) await writeSetting(transaction, "key_fingerprint", fingerprint);
    return known ?? fingerprint;
  });
  if (known === fingerprint) return;
  throw new KeyFileError(
    `cloud.key and cloud.db in ${dataDir} do not belong together: with this key every secret ` +
      "would be another one. Put the cloud.key back that was there when cloud.db was made",
  );
}

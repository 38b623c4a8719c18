import type { CloudDatabase } from "../database/cloud_database.ts";
import { readSetting, writeSetting } from "../database/settings.ts";
import { type CloudKeys, KeyFileError } from "../keys/key_file.ts";

/** Binds a database to its key file: with another one every secret would silently be another. */
export async function requireMatchingKeys(
  { queries, engine, place }: Pick<CloudDatabase, "queries" | "engine" | "place">,
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
  const [both, made] = engine === "sqlite"
    ? [`cloud.key and cloud.db in ${dataDir}`, "cloud.db"]
    : [`cloud.key in ${dataDir} and the database ${place}`, "the database"];
  throw new KeyFileError(
    `${both} do not belong together: with this key every secret would be another one. Put the ` +
      `cloud.key back that was there when ${made} was made`,
  );
}

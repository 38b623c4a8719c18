import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import { readSetting } from "../../storage/database/settings.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { openText, sealText } from "../../storage/keys/sealed_text.ts";
import { AuthorityError } from "./authority_error.ts";

/** Where processes that use one database find the authority that all of them have. */
export interface SharedAuthority {
  /** PEM texts of its certificate and key; undefined: there is none yet. */
  read(): Promise<string | undefined>;
  /** Keeps one that was made or found, unless another process has. @returns the one that is kept */
  keep(pem: string): Promise<string>;
}

/**
 * The authority in PostgreSQL, encrypted with a key of `cloud.key`: a process on another host that
 * takes over must not begin one of its own, which no client trusts. Undefined with SQLite, which
 * lies in the same folder as the authority's file.
 *
 * @throws {AuthorityError} when what is kept there cannot be opened
 */
export function sharedAuthority(
  { engine, queries, place }: Pick<CloudDatabase, "engine" | "queries" | "place">,
  secrets: Pick<DerivedSecrets, "authorityKey">,
): SharedAuthority | undefined {
  if (engine === "sqlite") return undefined;
  const key = secrets.authorityKey();
  const read = async () => {
    const sealed = await readSetting(queries, "authority");
    if (sealed === undefined) return undefined;
    const pem = openText(key, sealed);
    if (pem !== undefined) return pem;
    throw new AuthorityError(
      `the certificate authority in ${place} was not kept with this cloud.key; put the one back ` +
        "that was there when the database was made",
    );
  };
  return {
    read,
    async keep(pem) {
      await queries.insertInto("settings").values({ name: "authority", value: sealText(key, pem) })
        .onConflict((conflict) => conflict.doNothing()).execute();
      return await read() ?? pem;
    },
  };
}

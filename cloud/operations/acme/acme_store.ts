import { join } from "node:path";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import { readSetting, writeSetting } from "../../storage/database/settings.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { openText, sealText } from "../../storage/keys/sealed_text.ts";

/** Where the account and the certificate are kept, both with their keys. PEM texts. */
export interface AcmeStore {
  /** Other nodes read and write it, too. */
  readonly isShared: boolean;
  /** Undefined: there is none yet. */
  certificate(): Promise<string | undefined>;
  keepCertificate(pem: string): Promise<void>;
  account(): Promise<string | undefined>;
  /** Keeps an account, unless there is one. @returns the one that is kept */
  keepAccount(pem: string): Promise<string>;
}

/** Below the data folder; for its owner only. */
const FOLDER = "acme";

/** Files of a data folder, which one process serves. */
export class AcmeFolder implements AcmeStore {
  readonly isShared = false;

  private constructor(private readonly folder: string) {}

  static async open(dataDir: string): Promise<AcmeFolder> {
    const folder = join(dataDir, FOLDER);
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    return new AcmeFolder(folder);
  }

  async certificate(): Promise<string | undefined> {
    return await readIfExists(join(this.folder, "certificate.pem"));
  }

  async keepCertificate(pem: string): Promise<void> {
    await writeFileAtomic(join(this.folder, "certificate.pem"), pem, { mode: 0o600 });
  }

  async account(): Promise<string | undefined> {
    return await readIfExists(join(this.folder, "account.pem"));
  }

  async keepAccount(pem: string): Promise<string> {
    await writeFileAtomic(join(this.folder, "account.pem"), pem, { mode: 0o600 });
    return pem;
  }
}

/** In PostgreSQL, encrypted with a key of `cloud.key`; what a data folder had before is taken over. */
export class SharedAcmeStore implements AcmeStore {
  readonly isShared = true;
  readonly #key: Uint8Array;

  constructor(
    private readonly database: Pick<CloudDatabase, "queries">,
    secrets: Pick<DerivedSecrets, "acmeKey">,
    private readonly dataDir: string,
  ) {
    this.#key = secrets.acmeKey();
  }

  async certificate(): Promise<string | undefined> {
    return await this.#read("acme_certificate") ??
      await readIfExists(join(this.dataDir, FOLDER, "certificate.pem"));
  }

  async keepCertificate(pem: string): Promise<void> {
    await writeSetting(this.database.queries, "acme_certificate", sealText(this.#key, pem));
  }

  async account(): Promise<string | undefined> {
    const kept = await this.#read("acme_account");
    if (kept !== undefined) return kept;
    const before = await readIfExists(join(this.dataDir, FOLDER, "account.pem"));
    return before && await this.keepAccount(before);
  }

  async keepAccount(pem: string): Promise<string> {
    const value = sealText(this.#key, pem);
    await this.database.queries.insertInto("settings").values({ name: "acme_account", value })
      .onConflict((conflict) => conflict.doNothing()).execute();
    return await this.#read("acme_account") ?? pem;
  }

  /** What cannot be opened was changed by somebody, and is as if it were not there. */
  async #read(name: "acme_account" | "acme_certificate"): Promise<string | undefined> {
    const sealed = await readSetting(this.database.queries, name);
    return sealed === undefined ? undefined : openText(this.#key, sealed);
  }
}

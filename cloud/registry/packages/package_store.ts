import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type {
  PackageFilesTable,
  PackageType,
  RegistryItemsTable,
} from "../../storage/database/registry_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { type BlobUpkeep, keepBlobsSwept } from "../../storage/blobs/blob_sweep.ts";
import { tellFollowers } from "./followers.ts";
import { requireUnused } from "./item_users.ts";
import { UploadPlaces } from "../../storage/blobs/upload_places.ts";
import { uploadFailure } from "../../storage/blobs/upload_failure.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type ItemRow = Selectable<RegistryItemsTable>;
export type FileRow = Selectable<PackageFilesTable>;
/** A file, and since when its version is deprecated; null: it is not. */
export type VersionFileRow = FileRow & { readonly version_deprecated_at: number | null };

/** What is uploaded; it was checked that its texts have the right form. */
export interface NewPackage {
  readonly orgId: string;
  readonly name: string;
  readonly type: PackageType;
  readonly version: string;
  readonly platform: string;
  /** Left out: what the item says. */
  readonly entrypoint?: string | undefined;
  readonly metadata: JsonObject;
  readonly files: JsonValue;
}

export interface PackageStoreOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
  readonly blobs: BlobStore;
  /** Largest package, bytes. */
  readonly limitBytes: number;
}

/** What the cloud does with a package that it makes itself. */
export interface OwnUpload {
  /** Runs in the transaction that stores the package; when it throws, nothing is stored. */
  readonly alongside: (transaction: Queries) => Promise<void>;
}

/** Uploads of callers at the same moment. */
const MOST_UPLOADS = 32;

/** Packages: registry items, their versions and the files of these, rows and blobs. */
export class PackageStore {
  readonly #uploads = new UploadPlaces(MOST_UPLOADS, "packages");

  constructor(private readonly options: PackageStoreOptions) {}

  /** The files of some items, newest first. */
  async filesOf(itemIds: readonly string[]): Promise<VersionFileRow[]> {
    if (itemIds.length === 0) return [];
    return await this.options.queries.selectFrom("package_files")
      .leftJoin(
        "item_versions",
        (join) =>
          join.onRef("item_versions.item_id", "=", "package_files.item_id")
            .onRef("item_versions.version", "=", "package_files.version"),
      )
      .selectAll("package_files").select("item_versions.deprecated_at as version_deprecated_at")
      .where("package_files.item_id", "in", itemIds)
      .orderBy("package_files.created_at", "desc").orderBy("package_files.id").execute();
  }

  /** Throws ALREADY_EXISTS when a version is used, so that nobody sends a file in vain. */
  async requireFree(wanted: NewPackage): Promise<void> {
    await this.#requireFree(this.options.queries, wanted);
  }

  /**
   * Stores a package; the parts that name it have been notified when this resolves. An upload that
   * fails, also in the middle, leaves nothing.
   *
   * @param own one of the cloud itself, which does not wait for those of callers
   */
  async upload(
    wanted: NewPackage,
    contents: AsyncIterable<Uint8Array>,
    actor: Actor,
    own?: OwnUpload,
  ): Promise<FileRow> {
    const { blobs, random, queries, changes, limitBytes } = this.options;
    const end = this.#uploads.take(wanted.orgId, own !== undefined);
    try {
      const blob = await blobs.receive(random.uuid(), contents, limitBytes);
      try {
        const row = await queries.transaction().execute(async (transaction) => {
          const row = await this.#insert(transaction, wanted, blob, actor);
          await own?.alongside(transaction);
          faultPoint("packages.upload.before-commit");
          return row;
        });
        faultPoint("packages.upload.after-commit");
        await changes.drain();
        return row;
      } catch (error) {
        await blobs.remove(blob.id);
        throw error;
      }
    } catch (error) {
      throw uploadFailure(error, "package", limitBytes);
    } finally {
      end();
    }
  }

  /**
   * Removes a version with its files. Throws FAILED_PRECONDITION while machines name exactly it.
   *
   * @returns how many files there were
   */
  async deleteVersion(item: ItemRow, version: string): Promise<number> {
    return await this.#delete(item, async (queries) => {
      const files = await queries.selectFrom("package_files").select("id")
        .where("item_id", "=", item.id).where("version", "=", version).execute();
      if (files.length > 0) {
        await requireUnused(queries, item, "give them another version first", version);
      }
      for (const table of ["item_versions", "version_schemas"] as const) {
        await queries.deleteFrom(table)
          .where("item_id", "=", item.id).where("version", "=", version).execute();
      }
      return files.map((file) => file.id);
    });
  }

  /** Removes an item with all its versions. */
  async deleteItem(item: ItemRow): Promise<void> {
    await this.#delete(item, async (queries) => {
      const files = await queries.selectFrom("package_files").select("id")
        .where("item_id", "=", item.id).execute();
      await queries.deleteFrom("registry_items").where("id", "=", item.id).execute();
      return files.map((file) => file.id);
    });
  }

  /** Removes what killed uploads left, at the start and every hour until the signal aborts. */
  async keepSwept(upkeep: BlobUpkeep): Promise<void> {
    const { blobs, queries } = this.options;
    const isKnown = async (id: string) => {
      const row = await queries.selectFrom("package_files").select("id").where("id", "=", id)
        .executeTakeFirst();
      return row !== undefined;
    };
    await keepBlobsSwept(blobs, isKnown, upkeep);
  }

  async #delete(
    item: ItemRow,
    remove: (queries: Queries) => Promise<readonly string[]>,
  ): Promise<number> {
    const { queries, changes, clock, blobs } = this.options;
    const ids = await queries.transaction().execute(async (transaction) => {
      const ids = await remove(transaction);
      await tellFollowers(transaction, item, clock.now());
      return ids;
    });
    for (const id of ids) await blobs.remove(id);
    await changes.drain();
    return ids.length;
  }

  async #requireFree(queries: Queries, wanted: NewPackage): Promise<ItemRow | undefined> {
    const { orgId, name, type, version, platform } = wanted;
    const item = await queries.selectFrom("registry_items").selectAll()
      .where("org_id", "=", orgId).where("name", "=", name).executeTakeFirst();
    if (!item) return undefined;
    if (item.type !== type) {
      throw refusal(
        "NAME_TAKEN",
        { name },
        `name: ${JSON.stringify(name)} is a package of type ${item.type} in this organisation; ` +
          "take another name",
        Code.AlreadyExists,
      );
    }
    const used = await queries.selectFrom("package_files").select("id")
      .where("item_id", "=", item.id).where("version", "=", version)
      .where("platform", "=", platform).executeTakeFirst();
    if (used) {
      throw refusal(
        "VERSION_EXISTS",
        { name, version, platform },
        `version: ${name} has ${version} for ${platform} already, and an uploaded version is ` +
          "never changed; give a new version",
        Code.AlreadyExists,
      );
    }
    return item;
  }

  async #insert(
    queries: Queries,
    wanted: NewPackage,
    blob: { id: string; size: number; sha256: string; crc32c: string },
    actor: Actor,
  ): Promise<FileRow> {
    const now = this.options.clock.now();
    const item = await this.#requireFree(queries, wanted) ??
      await insertItem(queries, wanted, this.options.random, now);
    const details = item.details;
    const entrypoint = wanted.entrypoint ?? entrypointOf(details);
    await queries.insertInto("item_versions")
      .values({ item_id: item.id, version: wanted.version, details, created_at: now.getTime() })
      .onConflict((conflict) => conflict.columns(["item_id", "version"]).doUpdateSet({ details }))
      .execute();
    const row: FileRow = {
      id: blob.id,
      item_id: item.id,
      version: wanted.version,
      platform: wanted.platform,
      entrypoint,
      sha256: blob.sha256,
      crc32c: blob.crc32c,
      size: blob.size,
      metadata: JSON.stringify(wanted.metadata),
      files: JSON.stringify(wanted.files),
      created_at: now.getTime(),
      created_by_type: actor.type,
      created_by: actor.id,
    };
    await queries.insertInto("package_files").values(row).execute();
    await queries.updateTable("registry_items").set({ updated_at: now.getTime() })
      .where("id", "=", item.id).execute();
    await tellFollowers(queries, item, now);
    return row;
  }
}

/** Makes an item that only its organisation sees. Call it in a transaction. */
export async function insertItem(
  queries: Queries,
  item: { orgId: string; name: string; type: PackageType },
  random: Random,
  now: Date,
): Promise<ItemRow> {
  const row: ItemRow = {
    id: random.uuid(),
    org_id: item.orgId,
    name: item.name,
    type: item.type,
    visibility: "private",
    url: "",
    description: "",
    markdown: null,
    details: "{}",
    created_at: now.getTime(),
    updated_at: now.getTime(),
    ...{ deprecated_at: null, deprecated_message: "" },
  };
  await queries.insertInto("registry_items").values(row).execute();
  return row;
}

function entrypointOf(details: string): string {
  const { entrypoint } = JSON.parse(details) as { entrypoint?: string };
  return entrypoint ?? "";
}

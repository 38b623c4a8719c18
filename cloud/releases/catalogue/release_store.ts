import { Code, type ConnectError } from "@connectrpc/connect";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { signRelease } from "../../../shared/transfer/releases/manifest.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Program, ReleaseChannel } from "../../storage/database/release_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { Blob, BlobStore } from "../../storage/blobs/blob_store.ts";
import { type BlobUpkeep, keepBlobsSwept } from "../../storage/blobs/blob_sweep.ts";
import { uploadFailure } from "../../storage/blobs/upload_failure.ts";
import { contentsProblem, HEAD_BYTES, type RolloutLimits } from "./checks.ts";
import type { KnownRelease } from "./known_release.ts";
import { requireFits } from "./release_conflicts.ts";
import { loadReleases, type ReleaseCatalogue } from "./release_catalogue.ts";
import type { ReleaseKeys, SigningKey } from "./release_keys.ts";
import { writeRollout } from "./rollout_store.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What is added; it was checked that its texts have the right form. */
export interface NewRelease {
  readonly program: Program;
  readonly version: string;
  readonly platform: string;
  /** Undefined: the version's own, `stable` for a new one. */
  readonly channel: ReleaseChannel | undefined;
  /** Empty: as they are. */
  readonly notes: string;
  /** Only for a version that is new. */
  readonly rollout: RolloutLimits | undefined;
  /** What the file must be, hexadecimal; empty: not stated. */
  readonly sha256: string;
}

export interface ReleaseStoreOptions {
  readonly queries: Queries;
  readonly catalogue: ReleaseCatalogue;
  readonly keys: ReleaseKeys;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Largest file, bytes. */
  readonly limitBytes: number;
}

/** Uploads at the same moment; each holds a file open. */
const MOST_UPLOADS = 8;

/** Releases: their rows and their files. */
export class ReleaseStore {
  #uploads = 0;

  constructor(private readonly options: ReleaseStoreOptions) {}

  /** Throws ALREADY_EXISTS when a release cannot be added, so that nobody sends a file in vain. */
  async requireFree(wanted: NewRelease): Promise<void> {
    const found = await findRelease(this.options.queries, wanted.program, wanted.version);
    if (found) requireFits(found, wanted, wanted.sha256 || undefined);
  }

  /**
   * Stores and signs a file of a release. The same file again changes nothing; an upload that
   * fails, also in the middle, leaves nothing.
   */
  async add(
    wanted: NewRelease,
    contents: AsyncIterable<Uint8Array>,
    actor: Actor,
  ): Promise<KnownRelease> {
    const { blobs, random, catalogue, limitBytes, keys } = this.options;
    if (this.#uploads >= MOST_UPLOADS) {
      throw refusal(
        "TRY_LATER",
        {},
        `${MOST_UPLOADS} releases are being uploaded; try again when one of them is done`,
        Code.ResourceExhausted,
      );
    }
    this.#uploads++;
    try {
      const checked = programFor(contents, wanted.platform);
      const blob = await blobs.receive(random.uuid(), checked, limitBytes);
      let isUsed = false;
      try {
        if (wanted.sha256 !== "" && wanted.sha256 !== blob.sha256) throw damaged(wanted, blob);
        isUsed = await this.#insert(wanted, blob, await keys.signing(), actor);
        faultPoint("releases.add.after-commit");
      } finally {
        if (!isUsed) await blobs.remove(blob.id);
      }
    } catch (error) {
      throw uploadFailure(error, "release", limitBytes);
    } finally {
      this.#uploads--;
      catalogue.changed();
    }
    return await this.#known(wanted.program, wanted.version);
  }

  /**
   * Removes a release, or its file for one platform; the last file takes the release with it.
   *
   * @param requireUnused throws where it must stay
   */
  async remove(
    program: Program,
    version: string,
    platform: string | undefined,
    requireUnused: (release: KnownRelease) => Promise<void>,
  ): Promise<void> {
    const { queries, blobs, catalogue } = this.options;
    const release = await this.#known(program, version);
    const files = release.files.filter((file) =>
      platform === undefined || file.platform === platform
    );
    if (files.length === 0) {
      throw refusal(
        "VERSION_UNKNOWN",
        { version },
        `release ${version} of ${program} has no file for ${platform}`,
        Code.NotFound,
      );
    }
    await requireUnused(release);
    await queries.transaction().execute(async (transaction) => {
      if (files.length === release.files.length) {
        await transaction.deleteFrom("releases").where("id", "=", release.id).execute();
      } else {
        await transaction.deleteFrom("release_files")
          .where("id", "in", files.map((file) => file.id)).execute();
      }
    });
    catalogue.changed();
    for (const file of files) await blobs.remove(file.id);
  }

  /** Puts a release on a channel; one that was withdrawn is offered again. */
  async promote(
    program: Program,
    version: string,
    channel: ReleaseChannel,
    rollout: RolloutLimits | undefined,
  ): Promise<KnownRelease> {
    return await this.#change(program, version, async (queries, release) => {
      await queries.updateTable("releases")
        .set({ channel, withdrawn_at: null, goes_back: 0 }).where("id", "=", release.id).execute();
      if (rollout) await writeRollout(queries, release, rollout, this.options.clock.now());
    });
  }

  /** Offers a release to nobody any more. */
  async withdraw(program: Program, version: string, goesBack: boolean): Promise<KnownRelease> {
    const now = this.options.clock.now().getTime();
    return await this.#change(program, version, async (queries, release) => {
      await queries.updateTable("releases")
        .set({ withdrawn_at: release.withdrawnAtMs ?? now, goes_back: goesBack ? 1 : 0 })
        .where("id", "=", release.id).execute();
    });
  }

  /** Removes what killed uploads left until the signal aborts. */
  async keepSwept(upkeep: BlobUpkeep): Promise<void> {
    const { blobs, queries } = this.options;
    const isKnown = async (id: string) => {
      const row = await queries.selectFrom("release_files").select("id").where("id", "=", id)
        .executeTakeFirst();
      return row !== undefined;
    };
    await keepBlobsSwept(blobs, isKnown, upkeep);
  }

  async #change(
    program: Program,
    version: string,
    change: (queries: Queries, release: KnownRelease) => Promise<void>,
  ): Promise<KnownRelease> {
    const { queries, catalogue } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const release = await findRelease(transaction, program, version);
      if (!release) throw noRelease(program, version);
      await change(transaction, release);
    });
    catalogue.changed();
    return await this.#known(program, version);
  }

  /** @returns false when the same file is there already. */
  async #insert(
    wanted: NewRelease,
    blob: Blob,
    key: SigningKey,
    actor: Actor,
  ): Promise<boolean> {
    const { queries, clock, random } = this.options;
    const { program, version, platform, notes } = wanted;
    const { size, sha256 } = blob;
    const manifest = { binary: program, version, platform, size, sha256 };
    const signature = (await signRelease(key.privateKey, manifest)).toBase64();
    const now = clock.now();
    return await queries.transaction().execute(async (transaction) => {
      const found = await findRelease(transaction, program, version);
      if (found && requireFits(found, wanted, sha256) === "the same") return false;
      const id = found?.id ?? random.uuid();
      if (!found) {
        await transaction.insertInto("releases").values({
          id,
          program,
          version,
          channel: wanted.channel ?? "stable",
          notes,
          added_at: now.getTime(),
          withdrawn_at: null,
          goes_back: 0,
        }).execute();
        if (wanted.rollout) await writeRollout(transaction, { id }, wanted.rollout, now);
      } else if (notes !== "") {
        await transaction.updateTable("releases").set({ notes }).where("id", "=", id).execute();
      }
      await transaction.insertInto("release_files").values({
        id: blob.id,
        release_id: id,
        platform,
        size,
        sha256,
        signature,
        key_id: key.id,
        added_at: now.getTime(),
        added_by_type: actor.type,
        added_by: actor.id,
      }).execute();
      faultPoint("releases.add.before-commit");
      return true;
    });
  }

  async #known(program: Program, version: string): Promise<KnownRelease> {
    const release = await this.options.catalogue.find(program, version);
    if (release) return release;
    throw noRelease(program, version);
  }
}

/** The answer for a release that does not exist. */
export function noRelease(program: Program, version: string): ConnectError {
  return refusal(
    "VERSION_UNKNOWN",
    { version },
    `there is no release ${version} of ${program}`,
    Code.NotFound,
  );
}

/** A release as it is in the open transaction. */
async function findRelease(
  queries: Queries,
  program: Program,
  version: string,
): Promise<KnownRelease | undefined> {
  const releases = await loadReleases(queries);
  return releases.find((known) => known.program === program && known.version === version);
}

/** Ends with an error when the contents cannot run on the platform. */
async function* programFor(
  contents: AsyncIterable<Uint8Array>,
  platform: string,
): AsyncIterable<Uint8Array> {
  let head = new Uint8Array();
  for await (const bytes of contents) {
    if (head.length < HEAD_BYTES) {
      head = new Uint8Array([...head, ...bytes.subarray(0, HEAD_BYTES - head.length)]);
      if (head.length === HEAD_BYTES) requireRuns(head, platform);
    }
    yield bytes;
  }
  requireRuns(head, platform);
}

function requireRuns(head: Uint8Array, platform: string): void {
  const problem = contentsProblem(head, platform);
  if (problem) {
    throw refusal(
      "PROGRAM_OTHER_PLATFORM",
      { platform },
      `contents: ${problem}`,
      Code.InvalidArgument,
    );
  }
}

function damaged({ sha256 }: NewRelease, blob: Blob): ConnectError {
  return refusal(
    "UPLOAD_CUT",
    {},
    `sha256: the file that came has ${blob.sha256} and not ${sha256}; nothing was saved, send it ` +
      "again",
    Code.InvalidArgument,
  );
}

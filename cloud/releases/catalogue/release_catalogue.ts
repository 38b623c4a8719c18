import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import type { Program } from "../../storage/database/release_schema.ts";
import type { KnownFile, KnownRelease, KnownRollout } from "./known_release.ts";
import type { ReleaseKey, ReleaseKeys } from "./release_keys.ts";

/** All releases, and the keys that signed them. */
export interface Catalogue {
  readonly releases: readonly KnownRelease[];
  readonly keys: readonly ReleaseKey[];
}

/**
 * What was released. Every agent asks every few seconds, so it is kept in memory until something
 * changed: {@link ReleaseCatalogue.changed} is called for what this process did, and the database
 * shows when another process wrote.
 */
export class ReleaseCatalogue {
  #kept: Promise<Catalogue> | undefined;
  #foreignVersion: number | undefined;

  constructor(
    private readonly database: Pick<CloudDatabase, "queries" | "foreignVersion">,
    private readonly keys: ReleaseKeys,
  ) {}

  /** As it is now. */
  async read(): Promise<Catalogue> {
    const version = this.database.foreignVersion();
    if (version !== this.#foreignVersion) this.#kept = undefined;
    this.#foreignVersion = version;
    if (this.#kept) return await this.#kept;
    const loading = this.#load();
    this.#kept = loading;
    loading.catch(() => {
      if (this.#kept === loading) this.#kept = undefined;
    });
    return await loading;
  }

  /** Call it after each change that this process made. */
  changed(): void {
    this.#kept = undefined;
  }

  /** Undefined when there is none. */
  async find(program: Program, version: string): Promise<KnownRelease | undefined> {
    const { releases } = await this.read();
    return releases.find((known) => known.program === program && known.version === version);
  }

  async #load(): Promise<Catalogue> {
    return {
      releases: await loadReleases(this.database.queries),
      keys: await this.keys.list(),
    };
  }
}

/** Reads all releases with their files and rollouts. */
export async function loadReleases(queries: Queries): Promise<KnownRelease[]> {
  const rows = await queries.selectFrom("releases").selectAll().orderBy("added_at").execute();
  const fileRows = await queries.selectFrom("release_files").selectAll().orderBy("platform")
    .execute();
  const rolloutRows = await queries.selectFrom("rollouts").selectAll().execute();
  const files = Map.groupBy(fileRows, (row) => row.release_id);
  const rollouts = new Map(rolloutRows.map((row) => [row.release_id, row]));
  return rows.map((row): KnownRelease => {
    const rollout = rollouts.get(row.id);
    return {
      id: row.id,
      program: row.program,
      version: row.version,
      channel: row.channel,
      notes: row.notes,
      addedAtMs: row.added_at,
      withdrawnAtMs: row.withdrawn_at ?? undefined,
      goesBack: row.goes_back === 1,
      files: (files.get(row.id) ?? []).map((file): KnownFile => ({
        id: file.id,
        platform: file.platform,
        size: file.size,
        sha256: file.sha256,
        signature: file.signature,
        keyId: file.key_id,
        addedAtMs: file.added_at,
      })),
      rollout: rollout && {
        percent: rollout.percent,
        tags: JSON.parse(rollout.tags) as string[],
        state: rollout.state,
        reason: rollout.reason,
        stopPercent: rollout.stop_percent,
        stopMinimum: rollout.stop_minimum,
        changedAtMs: rollout.changed_at,
        countedSinceMs: rollout.counted_since,
      } satisfies KnownRollout,
    };
  });
}

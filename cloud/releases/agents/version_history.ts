import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Selectable } from "kysely";
import type {
  AgentStatus,
  ProgramStatus,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Program } from "../../storage/database/release_schema.ts";
import type { PartVersionsTable } from "../../storage/database/version_schema.ts";

/** One change of what is installed on a part. */
export type InstalledVersionRow = Selectable<PartVersionsTable>;

/** Of each program of a part; older ones go. */
export const KEPT_VERSIONS = 50;
const PROGRAMS: readonly Program[] = ["machine-agent", "machine-server"];
const REMEMBERED_PARTS = 50_000;

/** Which versions of our programs parts have had, as their agents report. */
export class VersionHistory {
  /** What is installed by part and program: most reports say nothing new, and cost no query then. */
  readonly #installed = new Map<string, string>();

  constructor(private readonly queries: Queries, private readonly clock: Clock) {}

  /** Notes what a status says is installed, where it is another version than before. */
  async note(partId: string, { agent, server }: AgentStatus): Promise<void> {
    if (agent) await this.#noteProgram(partId, "machine-agent", agent);
    if (server) await this.#noteProgram(partId, "machine-server", server);
  }

  /** Another node may have noted something of a part. */
  forget(partId: string): void {
    for (const program of PROGRAMS) this.#installed.delete(keyOf(partId, program));
  }

  /** What was installed on a part, newest first. */
  async of(partId: string): Promise<InstalledVersionRow[]> {
    return await this.queries.selectFrom("part_versions").selectAll()
      .where("part_id", "=", partId).orderBy("at", "desc").orderBy("seq", "desc").execute();
  }

  async #noteProgram(partId: string, program: Program, status: ProgramStatus): Promise<void> {
    const { installed: version, lastChanged, lastRollback } = status;
    const key = keyOf(partId, program);
    if (version === "" || this.#installed.get(key) === version) return;
    const last = await this.queries.selectFrom("part_versions").selectAll()
      .where("part_id", "=", partId).where("program", "=", program)
      .orderBy("seq", "desc").limit(1).executeTakeFirst();
    if (last?.version !== version) {
      const isRollback = lastRollback?.to === version && lastRollback.from === last?.version;
      // The machine's clock counts as far as it fits the order of what was reported.
      const now = this.clock.now().getTime();
      const told = lastChanged ? timestampMs(lastChanged) : now;
      await this.queries.insertInto("part_versions").values({
        part_id: partId,
        program,
        version,
        previous: last?.version ?? "",
        at: Math.min(now, Math.max(told, last?.at ?? 0)),
        rollback_reason: isRollback ? lastRollback.reason : null,
      }).execute();
      await this.#removeOld(partId, program);
    }
    if (this.#installed.size >= REMEMBERED_PARTS) this.#installed.clear();
    this.#installed.set(key, version);
  }

  async #removeOld(partId: string, program: Program): Promise<void> {
    const kept = this.queries.selectFrom("part_versions").select("seq")
      .where("part_id", "=", partId).where("program", "=", program)
      .orderBy("seq", "desc").limit(KEPT_VERSIONS);
    await this.queries.deleteFrom("part_versions")
      .where("part_id", "=", partId).where("program", "=", program)
      .where("seq", "not in", kept).execute();
  }
}

function keyOf(partId: string, program: Program): string {
  return `${partId} ${program}`;
}

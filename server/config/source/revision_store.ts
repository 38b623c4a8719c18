/** The configurations that were applied, newest last, in the server's database. */
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";

/** How many revisions of a part are kept. */
const KEPT = 20;

/** A configuration that was applied. */
export interface AppliedRevision {
  readonly revision: string;
  readonly appliedAt: Date;
  readonly config: MachineConfig;
}

interface Row {
  revision: string;
  applied_at: string;
  config: string;
}

export class RevisionStore {
  /** @param part the cloud's part id, or `local`. */
  constructor(private readonly db: Database, private readonly part: string) {}

  /** What was applied last; undefined before the first time. */
  newest(): AppliedRevision | undefined {
    return this.history(1)[0];
  }

  /** The last revisions, newest first. */
  history(limit = KEPT): AppliedRevision[] {
    const rows = this.db.prepare<[string, number], Row>(
      "SELECT revision, applied_at, config FROM config_revisions WHERE part = ? ORDER BY id DESC LIMIT ?",
    ).all(this.part, limit);
    return rows.map((row) => ({
      revision: row.revision,
      appliedAt: new Date(row.applied_at),
      config: JSON.parse(row.config),
    }));
  }

  /** Keeps a configuration; does nothing when it is the newest already. */
  add(config: MachineConfig, appliedAt: Date): void {
    const text = JSON.stringify(config);
    this.db.transaction(() => {
      const last = this.db.prepare<[string], string>(
        "SELECT config FROM config_revisions WHERE part = ? ORDER BY id DESC LIMIT 1",
      ).pluck().get(this.part);
      if (last === text) return;
      this.db.prepare(
        "INSERT INTO config_revisions (part, revision, applied_at, config) VALUES (?, ?, ?, ?)",
      ).run(this.part, config.revision, appliedAt.toISOString(), text);
      this.db.prepare(
        `DELETE FROM config_revisions WHERE part = ? AND id NOT IN (
          SELECT id FROM config_revisions WHERE part = ? ORDER BY id DESC LIMIT ?)`,
      ).run(this.part, this.part, KEPT);
    }).immediate();
  }
}

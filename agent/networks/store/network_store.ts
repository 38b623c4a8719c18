import type { Database, Statement } from "../../../shared/base/store/sqlite.ts";
import type { ConnectionAttempt } from "../../provisioning/provisioning_port.ts";
import type { BootClock } from "./boot_clock.ts";

/** What the networks' state machine takes over a restart. */
export interface KeptRecord {
  /** How long it has been offline in this run of the host; undefined: it was online. */
  readonly offlineForMs: number | undefined;
  readonly reboots: number;
  readonly attempt: ConnectionAttempt | undefined;
}

/** What is known of a profile of ours beyond what NetworkManager has. */
export interface KeptProfile {
  readonly label: string;
  /** Digest of the network as it was wanted when this was written. */
  readonly wanted: string;
  /** Digest of the profile as NetworkManager had it afterwards; empty: it was not applied. */
  readonly kept: string;
  /** Begun so often without an end. */
  readonly attempts: number;
  /** Why it was taken back and is not tried again as it is; empty: it is in use. */
  readonly failure: string;
  readonly learned: Learned;
}

/** What scans and tries reported of a WiFi network. */
export interface Learned {
  /** Its access points take WPA3 only. */
  readonly isSaeOnly: boolean;
  /** It never showed its name. */
  readonly isHidden: boolean;
}

export const NOTHING_LEARNED: Learned = { isSaeOnly: false, isHidden: false };

interface ProfileRow extends Omit<KeptProfile, "learned"> {
  readonly learned: string;
}

/** What agent/networks keeps in the agent's database. Each write is on disk when it returns. */
export class NetworkStore {
  readonly #db: Database;
  readonly #boot: BootClock;
  /** Read at each turn of the networks' worker. */
  #profiles: Statement<[], ProfileRow> | undefined;

  constructor(db: Database, boot: BootClock) {
    this.#db = db;
    this.#boot = boot;
  }

  record(): KeptRecord {
    const row = this.#db.prepare<
      [],
      { boot: string; offline_since_ms: number | null; reboots: number; attempt: string | null }
    >("SELECT boot, offline_since_ms, reboots, attempt FROM network_record").get();
    if (!row) return { offlineForMs: undefined, reboots: 0, attempt: undefined };
    const isThisBoot = row.boot === this.#boot.boot && row.offline_since_ms !== null;
    return {
      offlineForMs: isThisBoot
        ? Math.max(0, this.#boot.uptimeMs() - (row.offline_since_ms ?? 0))
        : undefined,
      reboots: row.reboots,
      attempt: row.attempt === null ? undefined : JSON.parse(row.attempt) as ConnectionAttempt,
    };
  }

  saveRecord({ offlineForMs, reboots, attempt }: KeptRecord): void {
    const since = offlineForMs === undefined ? null : this.#boot.uptimeMs() - offlineForMs;
    this.#db.prepare(
      "INSERT OR REPLACE INTO network_record (only, boot, offline_since_ms, reboots, attempt) " +
        "VALUES (1, ?, ?, ?, ?)",
    ).run(this.#boot.boot, since, reboots, attempt ? JSON.stringify(attempt) : null);
  }

  profiles(): Map<string, KeptProfile> {
    this.#profiles ??= this.#db.prepare<[], ProfileRow>(
      "SELECT label, wanted, kept, attempts, failure, learned FROM network_profile",
    );
    return new Map(
      this.#profiles.all().map((
        row,
      ) => [row.label, { ...row, learned: JSON.parse(row.learned) as Learned }]),
    );
  }

  saveProfile({ label, wanted, kept, attempts, failure, learned }: KeptProfile): void {
    this.#db.prepare(
      "INSERT OR REPLACE INTO network_profile (label, wanted, kept, attempts, failure, learned) " +
        "VALUES (?, ?, ?, ?, ?, ?)",
    ).run(label, wanted, kept, attempts, failure, JSON.stringify(learned));
  }

  forgetProfile(label: string): void {
    this.#db.prepare("DELETE FROM network_profile WHERE label = ?").run(label);
  }
}

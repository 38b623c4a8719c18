import { join } from "node:path";
import { compare, valid } from "semver";
import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { readOwnersWord } from "../../state/owners_word.ts";
import type { ProgramName } from "../updater/slot.ts";

/** In the agent's folder, by program, until the agent has taken note of it. */
const allowedFile = (dir: string, program: ProgramName): string =>
  join(dir, "etc", `agent-allows-${program}`);

/** A person lets a program go back as far as to a version. @throws {FileError} */
export async function allowVersion(
  dir: string,
  program: ProgramName,
  version: string,
): Promise<void> {
  await writeFileAtomic(allowedFile(dir, program), `${version}\n`, { mode: 0o644 });
}

export interface LowestVersionsOptions {
  readonly db: Database;
  /** The agent's folder. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The lowest version of each program that may be installed: the highest that was ever trusted here,
 * unless a person has said otherwise since. An old release stays signed forever, and with it the
 * holes that were fixed after it.
 */
export class LowestVersions {
  readonly #options: LowestVersionsOptions;
  #isFailing = false;

  constructor(options: LowestVersionsOptions) {
    this.#options = options;
  }

  /**
   * Takes note of the version that is in use and trusted, and of what a person allowed.
   *
   * @param current of it; what is no version (`customURL`, empty) counts for nothing.
   * @returns the lowest that may be installed; undefined when none is known.
   */
  async of(program: ProgramName, current: string): Promise<string | undefined> {
    await this.#takeAllowed(program, current);
    const row = this.#row(program);
    if (valid(current) === null || row?.allowed_below === current) return row?.version;
    if (row && row.allowed_below === "" && compare(row.version, current) >= 0) return row.version;
    const version = row && compare(row.version, current) > 0 ? row.version : current;
    this.#save(program, version, "");
    return version;
  }

  async #takeAllowed(program: ProgramName, current: string): Promise<void> {
    const { dir, log } = this.#options;
    const path = allowedFile(dir, program);
    const version = readOwnersWord(path)?.trim() ?? "";
    if (valid(version) === null) return;
    // Twice does no harm: a power cut between the two leaves the word for the next time.
    if (!this.#save(program, version, current)) return;
    await removeIfExists(path);
    log.info("the owner of this host sets the lowest version", { program, version });
  }

  #row(program: ProgramName): Row | undefined {
    return this.#options.db.prepare<[string], Row>(
      "SELECT version, allowed_below FROM lowest_version WHERE program = ?",
    ).get(program);
  }

  /** Whether the disk took it. One that takes nothing lets no update begin, so nothing is lost. */
  #save(program: ProgramName, version: string, allowedBelow: string): boolean {
    const { db, clock, log } = this.#options;
    try {
      db.prepare(
        "INSERT OR REPLACE INTO lowest_version (program, version, allowed_below, since) " +
          "VALUES (?, ?, ?, ?)",
      ).run(program, version, allowedBelow, clock.now().toISOString());
      this.#isFailing = false;
      return true;
    } catch (error) {
      const text = "the lowest version that may be installed cannot be kept on disk";
      if (this.#isFailing) log.debug(text, { program, error });
      else log.error(text, { event: "state_not_written", program, error });
      this.#isFailing = true;
      return false;
    }
  }
}

interface Row {
  readonly version: string;
  readonly allowed_below: string;
}

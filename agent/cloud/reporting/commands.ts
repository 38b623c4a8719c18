import {
  type ProgramCommand,
  ProgramCommand_Action as Action,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** What an operator can ask of one program. */
export interface CommandedProgram {
  /** Does at once, and once, what waits for the maintenance window. */
  force(): void;
  /** Empty: all of them. */
  forgetBad(version: string): void;
  /** Ends it and starts it again, whatever the maintenance window says. */
  restart(): void;
}

export interface CommandsOptions {
  readonly db: Database;
  /** By name: `machine-server`, `machine-agent`. */
  readonly programs: Readonly<Record<string, CommandedProgram>>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A command expires within hours; what is older cannot come again. */
const KEPT = 200;

/** Carries out what operators request, each command once, also over restarts of the agent. */
export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** Commands that the cloud has not learned of yet that they were carried out. */
  finished(): string[] {
    return this.#options.db.prepare<[], { id: string }>(
      "SELECT id FROM carried_out_commands WHERE reported = 0 ORDER BY rowid",
    ).all().map(({ id }) => id);
  }

  /** The cloud has learned of these. */
  reported(ids: readonly string[]): void {
    if (ids.length === 0) return;
    const { db } = this.#options;
    const update = db.prepare("UPDATE carried_out_commands SET reported = 1 WHERE id = ?");
    db.transaction(() => {
      for (const id of ids) update.run(id);
      db.prepare(
        "DELETE FROM carried_out_commands WHERE rowid NOT IN " +
          "(SELECT rowid FROM carried_out_commands ORDER BY rowid DESC LIMIT ?)",
      ).run(KEPT);
    }).immediate();
  }

  carryOut(commands: readonly ProgramCommand[]): void {
    for (const command of commands) if (this.#isNew(command)) this.#perform(command);
  }

  /**
   * Written down first: a command that ends the agent would else come again after each start. One
   * that a power cut swallows is seen as carried out, and requested again by who misses it.
   */
  #isNew({ id }: ProgramCommand): boolean {
    const { db, clock } = this.#options;
    const { changes } = db.prepare(
      "INSERT OR IGNORE INTO carried_out_commands (id, at) VALUES (?, ?)",
    ).run(id, clock.now().toISOString());
    return changes > 0;
  }

  #perform({ program: name, action, version }: ProgramCommand): void {
    const { programs, log } = this.#options;
    const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
    const text = `requested by an operator: ${ACTION_WORDS[action] ?? `action ${action}`}`;
    if (!program || !ACTION_WORDS[action]) {
      return log.error(`${text} is not known here`, { event: "command_refused", program: name });
    }
    log.info(text, { program: name, ...(version === "" ? {} : { version }) });
    switch (action) {
      case Action.FORCE:
        return program.force();
      case Action.FORGET_BAD:
        return program.forgetBad(version);
      case Action.RESTART:
        return program.restart();
    }
  }
}

const ACTION_WORDS: Readonly<Record<number, string>> = {
  [Action.FORCE]: "install now, whatever the maintenance window allows",
  [Action.FORGET_BAD]: "forget bad versions",
  [Action.RESTART]: "restart now",
};

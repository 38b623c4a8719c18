/** Decides what happens with a new configuration, and lets it happen. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import { diffConfigs } from "../../../shared/config/diff.ts";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import { renderDiff } from "../../../shared/config/render_diff.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { MachineState } from "../status/machine_state.ts";
import { bringsNew, type Candidate, ignoredParts, problemText, refusing } from "./candidate.ts";

/** From a "not now" of the maintenance sensor to the next question. Milliseconds. */
const MAINTENANCE_RETRY_MS = 10_000;

/** What a configuration changes next to the resources. */
export interface ConfigurationEffects {
  /** Log levels and deduplication. */
  setLogging(config: MachineConfig): void;
  /** Who the machine is, who may call, how long sessions live. */
  setIdentity(config: MachineConfig): void;
  /** Where and how the server listens. Rejects when it cannot; it then continues as before. */
  setNetwork(config: MachineConfig): Promise<void>;
  /** Packages, modules, resources, processes and jobs; resolves when each has been tried once. */
  setMachine(config: MachineConfig): Promise<void>;
  /** Whether the maintenance sensor of this configuration allows changes now. */
  maintenanceAllows(config: MachineConfig): Promise<boolean>;
  /** Keeps a configuration that was applied. */
  keep(config: MachineConfig): void;
}

export interface ApplierOptions {
  effects: ConfigurationEffects;
  state: MachineState;
  clock: Clock;
  log: Logger;
  /** `-reveal-sensitive-config-diffs` */
  revealDiffs: boolean;
}

/**
 * Takes configurations one at a time; of several that wait only the newest counts. One that is
 * wrong changes nothing when something runs already that does not have the same mistakes.
 */
export class ConfigurationApplier {
  #offered: Candidate | undefined;
  #working: Promise<void> | undefined;
  /** What is applied or being applied. */
  #current: Candidate | undefined;
  #settling = false;
  #recheck: Timer | undefined;
  /** What was refused last, and why. */
  #refused = "";
  /** A newer configuration waits for the maintenance sensor. */
  #isPostponed = false;
  /** What was reported of the network settings of the one that waits. */
  #networkProblem = "";
  #closed = false;

  constructor(private readonly options: ApplierOptions) {}

  /** True while a configuration is being looked at or its resources are built for the first time. */
  get busy(): boolean {
    return this.#working !== undefined || this.#settling;
  }

  /** The configuration that is applied or being applied. */
  get config(): MachineConfig | undefined {
    return this.#current?.config;
  }

  /** Takes a configuration; resolves when it has been decided on, before its resources are built. */
  offer(candidate: Candidate): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#offered = candidate;
    return this.#working ??= this.#work().finally(() => this.#working = undefined);
  }

  /**
   * There is a newer configuration that is not used.
   *
   * @param fingerprint of it; left out where it cannot even be read.
   */
  refuse(reason: string, fingerprint = ""): void {
    const refused = `${reason} ${fingerprint}`;
    if (this.options.state.configError === reason && this.#refused === refused) return;
    this.#refused = refused;
    this.options.log.error(`the new configuration is not applied: ${reason}`, {
      event: "config_refused",
    });
    this.options.state.refused(reason);
  }

  close(): void {
    this.#closed = true;
    this.#offered = undefined;
    this.#recheck?.cancel();
  }

  async #work(): Promise<void> {
    while (this.#offered) {
      const candidate = this.#offered;
      this.#offered = undefined;
      try {
        await this.#consider(candidate);
      } catch (error) {
        const reason = `it could not be applied: ${toError(error).message}`;
        this.refuse(reason, candidate.fingerprint);
      }
    }
  }

  async #consider(candidate: Candidate): Promise<void> {
    this.#recheck?.cancel();
    if (candidate.fingerprint === this.#current?.fingerprint) {
      // The one that waited is withdrawn, and with it who may call and where to listen.
      if (this.#isPostponed) await this.#follow(candidate.config);
      this.#isPostponed = false;
      this.#refused = "";
      if (!this.#settling && refusing(candidate.problems).length === 0) {
        this.options.state.recovered();
      }
      return;
    }
    const serious = refusing(candidate.problems);
    const reason = serious.map(problemText).join("; ");
    const running = this.#current && refusing(this.#current.problems);
    if (serious.some(({ fatal }) => fatal) || (running && bringsNew(serious, running))) {
      return this.refuse(reason, candidate.fingerprint);
    }
    if (!await this.#mayChange(candidate.config)) return await this.#postpone(candidate);
    await this.#apply(candidate, reason);
  }

  /** What is being built for the first time may be replaced: the sensor may not be there yet. */
  async #mayChange(config: MachineConfig): Promise<boolean> {
    if (!this.#current || this.options.state.phase === "initializing") return true;
    return await this.options.effects.maintenanceAllows(config);
  }

  /** Who may call and where to listen still follow the new configuration. */
  async #postpone(candidate: Candidate): Promise<void> {
    const { log, state, clock } = this.options;
    const reason = "waiting until the maintenance sensor allows it";
    if (state.configError !== reason) {
      log.info(
        "Reconfigure NOT allowed by maintenance sensor, " +
          "but Cloud/Auth/Network config changes will be applied",
        { event: "config_postponed" },
      );
    }
    state.refused(reason);
    this.#isPostponed = true;
    this.#recheck = clock.setTimer(MAINTENANCE_RETRY_MS, () => void this.offer(candidate));
    await this.#follow(candidate.config);
  }

  async #follow(config: MachineConfig): Promise<void> {
    const { effects, log } = this.options;
    effects.setIdentity(config);
    try {
      await effects.setNetwork(config);
      this.#networkProblem = "";
    } catch (error) {
      const problem = `the new network settings are not used: ${toError(error).message}`;
      if (problem !== this.#networkProblem) {
        log.error(problem, { event: "network_settings_refused" });
      }
      this.#networkProblem = problem;
    }
  }

  async #apply(candidate: Candidate, problem: string): Promise<void> {
    const { effects, log, state } = this.options;
    const { config, origin } = candidate;
    this.#report(candidate);
    this.#current = candidate;
    this.#isPostponed = false;
    this.#refused = "";
    effects.setLogging(config);
    effects.setIdentity(config);
    let trouble = problem;
    try {
      await effects.setNetwork(config);
    } catch (error) {
      trouble ||= toError(error).message;
      log.error(`the new network settings are not used: ${toError(error).message}`, {
        event: "network_settings_refused",
      });
    }
    this.#settling = true;
    const settled = effects.setMachine(config);
    void settled.then(() => {
      if (this.#closed || this.#current !== candidate) return;
      this.#settling = false;
      state.applied(config.revision, trouble);
      log.info("configuration applied", {
        event: "config_applied",
        revision: config.revision,
        origin,
      });
      if (trouble === "") this.#keep(config);
    });
  }

  #keep(config: MachineConfig): void {
    try {
      this.options.effects.keep(config);
    } catch (error) {
      this.options.log.error(
        `the configuration is applied but cannot be kept for the next start: ${
          toError(error).message
        }`,
        { event: "state_not_written" },
      );
    }
  }

  #report(candidate: Candidate): void {
    const { log, revealDiffs } = this.options;
    for (const problem of candidate.problems) {
      log.error(`configuration: ${problemText(problem)}; the entry is left out`, {
        event: "config_entry_refused",
      });
    }
    for (const warning of candidate.warnings) log.warn(`configuration: ${problemText(warning)}`);
    for (const note of ignoredParts(candidate)) log.warn(note);
    if (!revealDiffs) return;
    const diff = diffConfigs(this.#current?.config ?? emptyMachineConfig(), candidate.config);
    if (!diff.empty) log.info(`configuration changes:\n${renderDiff(diff, { reveal: true })}`);
  }
}

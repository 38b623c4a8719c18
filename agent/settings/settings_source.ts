import {
  mergeAgentSettings,
  type MergedAgentSettings,
} from "../../shared/config/agent_settings.ts";
import type { AgentSettings } from "../../shared/config/agent_fields.ts";
import { type ConfigProblem, formatProblem } from "../../shared/config/problem.ts";
import { toError } from "../../shared/base/errors/to_error.ts";
import { JsoncError, type JsonValue, parseJsonc } from "../../shared/base/files/jsonc.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { AgentState } from "../state/agent_state.ts";
import { Watched } from "../../shared/workers/watched.ts";
import { type DeviceConfig, fromText, toText } from "./device_config.ts";
import {
  type EnrollmentSettings,
  EnrollmentSettingsError,
  parseEnrollment,
} from "./enrollment_settings.ts";

/** What holds at this moment. */
export interface CurrentSettings {
  readonly settings: AgentSettings;
  /** What the cloud reported last, in this run or an earlier one; undefined when it never did. */
  readonly device: DeviceConfig | undefined;
  /** Fields that were not used and why; each one sentence, without secrets. */
  readonly problems: readonly string[];
}

/** What the command line decides whatever the other layers say; undefined: it says nothing. */
export interface SettingsOverrides {
  readonly debug: boolean | undefined;
  readonly wait: boolean | undefined;
}

export interface SettingsSourceOptions {
  readonly state: AgentState;
  readonly defaults: DefaultsFile;
  readonly overrides: SettingsOverrides;
  /** Gets all settings before anything is said about them, to keep what is secret out of it. */
  readonly beforeReport?: (settings: AgentSettings) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The manufacturer's defaults, as far as they can be used. */
export interface DefaultsFile {
  /** Sections as in the `agent` object. */
  readonly content: JsonValue | undefined;
  /**
   * Public keys whose signatures on releases count: Ed25519, 32 bytes, hexadecimal. Undefined:
   * there may be some that cannot be read.
   */
  readonly releaseKeys: readonly string[] | undefined;
  /** Where a device without credentials requests some; undefined: nowhere. */
  readonly enrollment?: EnrollmentSettings | undefined;
  /** Why the file is not used; undefined when it is, or when there is none. */
  readonly problem: string | undefined;
}

const LAYERS = ["defaults file", "cloud", "command line"] as const;

/**
 * The agent's settings: built-in defaults < defaults file < cloud < command line. What the cloud
 * said is kept on disk, so that a start without the cloud continues with it.
 */
export class SettingsSource {
  /** Set again at each change. */
  readonly current: Watched<CurrentSettings>;
  readonly #options: SettingsSourceOptions;
  #savedText: string | undefined;
  #reported = "";

  constructor(options: SettingsSourceOptions) {
    this.#options = options;
    this.#savedText = options.state.deviceConfig();
    const device = this.#savedText === undefined ? undefined : fromText(this.#savedText);
    if (this.#savedText !== undefined && !device) {
      options.log.warn("the stored settings of the cloud cannot be read; they are fetched again");
    }
    this.current = new Watched(this.#merge(device));
  }

  /** Takes a new answer of the cloud. What is the same as before changes nothing. */
  accept(device: DeviceConfig): void {
    const text = toText(device);
    if (text === this.#savedText) return;
    try {
      this.#options.state.saveDeviceConfig(text, this.#options.clock.now());
      this.#savedText = text;
    } catch (error) {
      this.#options.log.error(
        "the cloud's settings cannot be kept on disk; they hold until a restart",
        { event: "state_not_written", error },
      );
    }
    // Out of the text, in whose order networks come, and by which they are compared.
    this.current.value = this.#merge(fromText(text) ?? device);
  }

  #merge(device: DeviceConfig | undefined): CurrentSettings {
    const { defaults, overrides } = this.#options;
    const commandLine = {
      advanced_settings: {
        ...(overrides.debug === undefined ? {} : { debug: overrides.debug }),
        ...(overrides.wait === undefined ? {} : { wait_for_update_check: overrides.wait }),
      },
    };
    const layers = [defaults.content, device?.sections, commandLine];
    const merged = mergeAgentSettings(layers, LAYERS);
    this.#options.beforeReport?.(merged.settings);
    this.#report(merged);
    const problems = merged.problems.map(formatProblem);
    if (defaults.problem !== undefined) problems.unshift(defaults.problem);
    return { settings: merged.settings, device, problems };
  }

  /** Each set of problems once, not at every answer of the cloud. */
  #report({ problems, warnings }: MergedAgentSettings): void {
    const texts = (list: readonly ConfigProblem[]) => list.map(formatProblem);
    const all = JSON.stringify([texts(problems), texts(warnings)]);
    if (all === this.#reported) return;
    this.#reported = all;
    for (const text of texts(problems)) {
      this.#options.log.error(`setting not used: ${text}`, { event: "setting_refused" });
    }
    for (const text of texts(warnings)) this.#options.log.warn(text);
  }
}

/**
 * The manufacturer's defaults: JSON with comments, sections as in the `agent` object,
 * `release_keys` and `enrollment`. A file that is missing is none; one that cannot be used is reported and left out.
 */
export async function readDefaultsFile(path: string, log: Logger): Promise<DefaultsFile> {
  try {
    const text = await readIfExists(path);
    return text === undefined ? NO_DEFAULTS : splitDefaults(parseJsonc(text), path, log);
  } catch (error) {
    const detail = error instanceof JsoncError
      ? `${path}: not JSON: ${error.message}`
      : toError(error).message;
    return reported(UNREADABLE, `the defaults file is not used: ${detail}`, log);
  }
}

const NO_DEFAULTS: DefaultsFile = {
  content: undefined,
  releaseKeys: [],
  problem: undefined,
};
/** What cannot be read may have named keys; nothing may pass because a file is torn. */
const UNREADABLE: DefaultsFile = { ...NO_DEFAULTS, releaseKeys: undefined };

function splitDefaults(content: JsonValue, path: string, log: Logger): DefaultsFile {
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    const problem = `the defaults file is not used: ${path}: expected an object of sections`;
    return reported(UNREADABLE, problem, log);
  }
  const { release_keys: keys = [], enrollment, ...sections } = content;
  const found = enrollmentIn(enrollment, path);
  const file = { ...NO_DEFAULTS, content: sections, ...found.settings };
  if (found.problem !== undefined) log.error(found.problem, { event: "setting_refused" });
  if (Array.isArray(keys) && keys.every(isPublicKey)) return { ...file, releaseKeys: keys };
  const problem = `${path}: release_keys must be a list of public keys of 64 hexadecimal digits; ` +
    "nothing is installed until it is fixed";
  return reported({ ...file, releaseKeys: undefined }, problem, log);
}

function enrollmentIn(
  section: JsonValue | undefined,
  path: string,
): { settings: Pick<DefaultsFile, "enrollment">; problem?: string } {
  if (section === undefined) return { settings: {} };
  try {
    return { settings: { enrollment: parseEnrollment(section, `${path}: enrollment`) } };
  } catch (error) {
    if (!(error instanceof EnrollmentSettingsError)) throw error;
    return { settings: {}, problem: error.message };
  }
}

function isPublicKey(value: JsonValue): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/i.test(value);
}

function reported(file: DefaultsFile, problem: string, log: Logger): DefaultsFile {
  log.error(problem, { event: "setting_refused" });
  return { ...file, problem };
}

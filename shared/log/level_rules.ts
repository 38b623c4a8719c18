import { toError } from "../base/errors/to_error.ts";
import { parseLevel, severity } from "./level.ts";
import { type Level, LEVELS } from "./logger.ts";
import { compileLogPattern, type LogPattern } from "./pattern.ts";

/** Logger names of resources are this and the resource's full name. */
export const RESOURCE_LOGGERS = "rdk.resource_manager.";
/** Logger names of modules are this and the module's name. */
export const MODULE_LOGGERS = "rdk.modmanager.";
/** Logger names of jobs are this and the job's name. */
export const JOB_LOGGERS = "rdk.job_manager.";

/** A `log` rule that was skipped. */
export interface PatternProblem {
  /** Its place in the `log` array, from 0. */
  index: number;
  pattern: string;
  /** What is wrong with it. */
  message: string;
}

/** Loggers whose level is kept; modules name theirs as they like. */
const MOST_KEPT = 500;

interface Rule {
  expression: RegExp;
  level: Level;
}

/**
 * Decides the level of every logger. What is set later counts at once.
 *
 * Debug mode beats everything; then the level of the resource or module itself; then the last
 * `log` pattern that matches; then the default level.
 */
export class LevelRules {
  #defaultLevel: Level = "info";
  #debugMode = false;
  #patterns: readonly Rule[] = [];
  #resources: ReadonlyMap<string, Level> = new Map();
  #generation = 0;
  /** The least severity by logger, as long as the rules stay the same. */
  #admitted = { generation: 0, from: new Map<string, number>() };

  /** Changes with every change of the rules, so that loggers can keep what they received. */
  get generation(): number {
    return this.#generation;
  }

  setDefault(level: Level): void {
    this.#defaultLevel = level;
    this.#generation++;
  }

  setDebugMode(on: boolean): void {
    this.#debugMode = on;
    this.#generation++;
  }

  /** Replaces all patterns; those that cannot be used are skipped and reported. */
  setPatterns(patterns: readonly LogPattern[]): PatternProblem[] {
    const problems: PatternProblem[] = [];
    const rules: Rule[] = [];
    patterns.forEach(({ pattern, level }, index) => {
      try {
        rules.push({ expression: compileLogPattern(pattern), level: requireLevel(level) });
      } catch (error) {
        const reason = toError(error).message;
        problems.push({ index, pattern, message: `log[${index}] is skipped: ${reason}` });
      }
    });
    this.#patterns = rules;
    this.#generation++;
    return problems;
  }

  /**
   * Replaces the levels of single loggers, which count for those below them too. Each by the
   * logger's name, or by the name of its resource (`rdk:component:sensor/host`), module or job.
   */
  setResourceLevels(levels: Readonly<Record<string, Level>>): void {
    this.#resources = new Map(Object.entries(levels));
    this.#generation++;
  }

  levelOf(logger: string): Level {
    if (this.#debugMode) return "debug";
    return this.#setLevelOf(logger) ?? this.#defaultLevel;
  }

  /**
   * Whether a line is written that somebody else's logger let pass, a module's for example: unless
   * debug mode is off and a rule or a level of its own says otherwise. The default level does not
   * count: the peer was sent its own.
   */
  admits(logger: string, level: Level): boolean {
    if (this.#debugMode) return true;
    if (this.#admitted.generation !== this.#generation || this.#admitted.from.size > MOST_KEPT) {
      this.#admitted = { generation: this.#generation, from: new Map() };
    }
    const { from } = this.#admitted;
    let least = from.get(logger);
    if (least === undefined) {
      from.set(logger, least = severity(this.#setLevelOf(logger) ?? "debug"));
    }
    return severity(level) >= least;
  }

  /** Undefined where neither a rule nor a level of its own is there. */
  #setLevelOf(logger: string): Level | undefined {
    const names = namesOf(logger);
    for (const name of names) {
      const level = this.#resources.get(name);
      if (level !== undefined) return level;
    }
    const rule = this.#patterns.findLast(({ expression }) =>
      names.some((name) => expression.test(name))
    );
    return rule?.level;
  }
}

const OWNERS = [RESOURCE_LOGGERS, MODULE_LOGGERS, JOB_LOGGERS];

/** Everything a rule may call a logger, most exact first. */
function namesOf(logger: string): string[] {
  const prefix = OWNERS.find((owner) => logger.startsWith(owner));
  if (prefix === undefined) return [logger];
  const own = logger.slice(prefix.length);
  if (prefix === MODULE_LOGGERS) return namesInModule(logger, own);
  // A resource or a module may log under names below its own: "…/host.poll", "mod.StdOut".
  const end = own.indexOf(".", own.indexOf("/") + 1);
  if (end < 0) return [logger, own];
  const owner = own.slice(0, end);
  return [logger, own, prefix + owner, owner];
}

/** SDKs log for a resource under the module's name and the resource's: "mod.rdk:component:arm/a". */
function namesInModule(logger: string, own: string): string[] {
  const end = own.indexOf(".");
  if (end < 0) return [logger, own];
  const [module, inside] = [own.slice(0, end), own.slice(end + 1)];
  const resource = /^[^:/.]+:[^:/.]+:[^:/.]+\/./.test(inside)
    ? [RESOURCE_LOGGERS + inside, inside]
    : [];
  return [logger, own, ...resource, MODULE_LOGGERS + module, module];
}

function requireLevel(text: string): Level {
  const level = parseLevel(text);
  if (level) return level;
  throw new SyntaxError(`level ${JSON.stringify(text)} is none of ${LEVELS.join(", ")}`);
}

import { parseLevel } from "./level.ts";
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

  /** Changes with every change of the rules, so that loggers can keep what they were told. */
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

  /** Replaces all patterns; those that cannot be used are skipped and told. */
  setPatterns(patterns: readonly LogPattern[]): PatternProblem[] {
    const problems: PatternProblem[] = [];
    const rules: Rule[] = [];
    patterns.forEach(({ pattern, level }, index) => {
      try {
        rules.push({ expression: compileLogPattern(pattern), level: requireLevel(level) });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
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
    const names = namesOf(logger);
    for (const name of names) {
      const level = this.#resources.get(name);
      if (level !== undefined) return level;
    }
    const rule = this.#patterns.findLast(({ expression }) =>
      names.some((name) => expression.test(name))
    );
    return rule?.level ?? this.#defaultLevel;
  }
}

const OWNERS = [RESOURCE_LOGGERS, MODULE_LOGGERS, JOB_LOGGERS];

/** Everything a rule may call a logger, most exact first. */
function namesOf(logger: string): string[] {
  const prefix = OWNERS.find((owner) => logger.startsWith(owner));
  if (prefix === undefined) return [logger];
  const own = logger.slice(prefix.length);
  // A resource or a module may log under names below its own: "…/host.poll", "mod.StdOut".
  const end = own.indexOf(".", own.indexOf("/") + 1);
  if (end < 0) return [logger, own];
  const owner = own.slice(0, end);
  return [logger, own, prefix + owner, owner];
}

function requireLevel(text: string): Level {
  const level = parseLevel(text);
  if (level) return level;
  throw new SyntaxError(`level ${JSON.stringify(text)} is none of ${LEVELS.join(", ")}`);
}

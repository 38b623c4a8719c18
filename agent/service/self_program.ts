import { isAbsolute, join, relative } from "node:path";
import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { OWN_VARIABLES } from "./systemd_manager.ts";

/** This process as its own update sees it. */
export interface SelfProgram {
  /** File that it was started from, named as links name it; undefined: it runs from its sources. */
  readonly path: string | undefined;
  /** Why it cannot replace itself; undefined when it can. */
  readonly problem: string | undefined;
}

export interface SelfFacts {
  /** File of the running program. */
  readonly execPath: string;
  /** A program in one file; else the sources run. */
  readonly isCompiled: boolean;
  readonly env: Environment;
  /** It was started by the service manager of Windows. */
  readonly asService: boolean;
}

/** Set by those who start the agent again when it ends: the unit, and the launcher. */
export const SERVICE_VARIABLE = "MACHINE_AGENT_SERVICE";
const LAUNCHER_VARIABLE = "MACHINE_AGENT_LAUNCHER";
/** A script that starts the sources names itself here, and is then what runs. */
const PROGRAM_VARIABLE = "MACHINE_AGENT_PROGRAM";

/** By which whoever started the agent speaks to it, and to nobody below it. */
const STARTER_VARIABLES = [SERVICE_VARIABLE, LAUNCHER_VARIABLE, PROGRAM_VARIABLE] as const;

type Environment = Readonly<Record<string, string>>;

/** What the server inherits: all but what is meant for the agent alone. */
export function withoutStarterVariables(env: Environment): Environment {
  const own: readonly string[] = [...STARTER_VARIABLES, ...OWN_VARIABLES];
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.includes(name)));
}

/** What is known of this process's program. */
export function describeSelf({ execPath, isCompiled, env, asService }: SelfFacts): SelfProgram {
  const path = env[PROGRAM_VARIABLE] || (isCompiled ? execPath : undefined);
  if (path === undefined) {
    return { path, problem: "this machine-agent runs from its sources, not from one file" };
  }
  const isStartedAgain = asService || env[SERVICE_VARIABLE] || env[LAUNCHER_VARIABLE];
  return {
    path,
    problem: isStartedAgain
      ? undefined
      : "nobody would start machine-agent again; let it run as a service (--install) or by " +
        "machine-agent-launcher",
  };
}

/** The running program. @param dir the agent's folder, in which the program should lie. */
export function selfProgram(dir: string, asService: boolean): SelfProgram {
  return describeSelf({
    execPath: namedIn(dir, resolved(Deno.execPath())),
    isCompiled: buildInfo.compiled,
    env: Deno.env.toObject(),
    asService,
  });
}

/** The links in `bin` name the folder as it was given; the system names where it really lies. */
export function namedIn(dir: string, path: string): string {
  const inside = relative(resolved(dir), path);
  return inside.startsWith("..") || isAbsolute(inside) ? path : join(dir, inside);
}

function resolved(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path; // The file was removed since.
  }
}

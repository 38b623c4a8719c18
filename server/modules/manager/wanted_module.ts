/** What the configuration asks of modules, and what forbids to start one. */
import { isAbsolute, join, resolve } from "node:path";

/** One module of the configuration, with its placeholders filled in. */
export interface WantedModule {
  /** Unique on the machine; the part of the names of sockets, folders and loggers. */
  readonly name: string;
  /** Path of the program. A relative one is taken from the server's working folder. */
  readonly executable: string;
  /** Working folder of the program and its MODULE_ROOT. "": the folder of the program. */
  readonly root: string;
  /** `namespace:name`; registry modules only. */
  readonly moduleId?: string;
  /** Variables that the configuration adds. */
  readonly env: Readonly<Record<string, string>>;
  /** debug, info, warn or error; default: debug when the module's logger shows debug lines. */
  readonly logLevel?: string;
  /** Speak over TCP on loopback in place of unix sockets. */
  readonly tcpMode: boolean;
  /** Longest time of the first-run script, in milliseconds. Default 1 h. */
  readonly firstRunTimeoutMs?: number;
  /** The first-run script runs once for each. Default: once for each executable. */
  readonly version?: string;
  /** Why the module cannot be started at all. */
  readonly problem?: string;
  /** What the module has to wait for before it can be started. */
  readonly pending?: string;
}

/** Why a wanted module does not run. */
export interface Hold {
  /** pending: resolves itself. refused: only another configuration helps. */
  readonly kind: "pending" | "refused";
  readonly reason: string;
}

/** A wanted module with its paths made absolute, and what holds it back. */
export interface CheckedModule {
  readonly wanted: WantedModule;
  readonly hold: Hold | undefined;
}

export interface CheckOptions {
  /** Folder of the user, for paths that start with `~/`. */
  readonly userHome: string | undefined;
  /**
   * No module runs: `module_id` is what the configuration claims, and proves nothing of whose
   * program it is.
   */
  readonly untrusted: boolean;
}

const NAME = /^[a-zA-Z0-9][-\w]{0,199}$/;

/** Resolves paths and finds what forbids to start a module. Of two with one name the last counts. */
export function checkModules(
  modules: readonly WantedModule[],
  options: CheckOptions,
): CheckedModule[] {
  const byName = new Map(modules.map((module) => [module.name, withPaths(module, options)]));
  const users = new Map<string, string>();
  return [...byName.values()].map((wanted) => {
    const problem = wanted.problem ?? problemOf(wanted, options) ?? doubleOf(wanted, users);
    const hold = problem !== undefined
      ? { kind: "refused", reason: problem } as const
      : wanted.pending !== undefined
      ? { kind: "pending", reason: wanted.pending } as const
      : undefined;
    return { wanted, hold };
  });
}

/** True when a running module must be restarted to become the other one. */
export function needsRestart(before: WantedModule, after: WantedModule): boolean {
  return startFacts(before) !== startFacts(after);
}

function startFacts(module: WantedModule): string {
  const env = Object.entries(module.env).sort(([a], [b]) => a < b ? -1 : 1);
  const { executable, root, moduleId, logLevel, tcpMode, version } = module;
  return JSON.stringify([executable, root, moduleId, logLevel, tcpMode, version, env]);
}

function withPaths(module: WantedModule, { userHome }: CheckOptions): WantedModule {
  const absolute = (path: string) => {
    if (path === "" || isAbsolute(path)) return path;
    return userHome && path.startsWith("~/") ? join(userHome, path.slice(2)) : resolve(path);
  };
  return { ...module, executable: absolute(module.executable), root: absolute(module.root) };
}

function problemOf(module: WantedModule, options: CheckOptions): string | undefined {
  const { name, executable, pending } = module;
  if (!NAME.test(name)) {
    return `${JSON.stringify(name)} is no name for a module; ` +
      "allowed: letters, digits, - and _, at most 200";
  }
  if (name === "parent") return 'the name "parent" is taken by the server; choose another';
  if (options.untrusted) {
    return `module ${name} is not started: the server runs with -untrusted-env, which allows no ` +
      "modules";
  }
  if (executable === "" && pending === undefined) {
    return `module ${name} has no executable_path; set it to the path of the program`;
  }
  return undefined;
}

function doubleOf(module: WantedModule, users: Map<string, string>): string | undefined {
  if (module.executable === "") return undefined;
  const other = users.get(module.executable);
  users.set(module.executable, other ?? module.name);
  return other === undefined
    ? undefined
    : `module ${module.name} has the same executable as module ${other}, ${module.executable}; ` +
      "remove one of the two";
}

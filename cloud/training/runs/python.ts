import { Code } from "@connectrpc/connect";
import { type ProcessRunner, SpawnError } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { endOf } from "./end_of.ts";
import { RunFailedError } from "./run_failure.ts";
import type { Inherited } from "./run_environment.ts";

/** A Python that can make virtual environments. */
export interface Python {
  /** Absolute path of the program itself, past links of version managers. */
  readonly program: string;
  /** `3.11.7`. */
  readonly version: string;
  /** Folders that it is installed in. */
  readonly prefixes: readonly string[];
  /**
   * Hosts of the package index that its pip uses automatically; none where it does not report it.
   */
  readonly indexHosts: readonly string[];
}

/** What scripts need at least. */
const OLDEST = [3, 9] as const;
const QUESTION = `import importlib.util as u, json, sys
lacks = [m for m in ("venv", "ensurepip") if u.find_spec(m) is None]
folders = sorted({sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix})
def hosts():
    try:
        if u.find_spec("pip") is None:
            import ensurepip, glob, os
            inside = os.path.dirname(ensurepip.__file__) + "/_bundled/pip-*.whl"
            sys.path[:0] = glob.glob(inside) + glob.glob("/usr/share/python-wheels/pip-*.whl")
        from pip._internal.models.index import PyPI
        return [PyPI.netloc, PyPI.file_storage_domain]
    except Exception:
        return []
print(json.dumps([sys.executable, "%d.%d.%d" % sys.version_info[:3], lacks, folders, hosts()]))`;
const ANSWER_MS = 60_000;

/**
 * Asks a Python what it is.
 *
 * @param name absolute path, or a name to look for in PATH.
 * @throws {RunFailedError} FAILED_PRECONDITION when there is none that can be used: what to do; the
 * signal's reason.
 */
export async function findPython(
  name: string,
  { processes, clock, inherited, signal }: {
    readonly processes: ProcessRunner;
    readonly clock: Clock;
    readonly inherited: Inherited;
    readonly signal: AbortSignal;
  },
): Promise<Python> {
  const lines: string[] = [];
  const errors: string[] = [];
  let code: number | null;
  try {
    const child = processes.start({
      program: name,
      // -I: nothing of this user's own settings. It is the operator's program, not a script's.
      args: ["-I", "-c", QUESTION],
      env: inherited,
      onLine: (stream, line) => void (stream === "stdout" ? lines : errors).push(line),
    });
    ({ code } = await endOf(child, { clock, limitMs: ANSWER_MS, signal }));
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    throw unusable(name, error.message);
  }
  const answer = code === 0 ? readAnswer(lines.at(-1)) : undefined;
  if (!answer) throw unusable(name, errors.at(-1) ?? "it does not answer as Python does");
  const [program, version, lacks, prefixes, indexHosts] = answer;
  if (lacks.length > 0) {
    throw unusable(name, `it lacks ${lacks.join(" and ")}; on Debian install python3-venv`);
  }
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw unusable(name, `it is ${version}, and ${OLDEST.join(".")} is the oldest that works`);
  }
  return { program, version, prefixes, indexHosts };
}

type Answer = [
  program: string,
  version: string,
  lacks: string[],
  prefixes: string[],
  indexHosts: string[],
];

function readAnswer(line = ""): Answer | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function unusable(name: string, why: string): RunFailedError {
  return new RunFailedError(
    Code.FailedPrecondition,
    `the host that trains has no Python for scripts: ${JSON.stringify(name)} cannot be used: ` +
      `${why}. Its operator has to install Python ${OLDEST.join(".")} or newer with venv`,
  );
}

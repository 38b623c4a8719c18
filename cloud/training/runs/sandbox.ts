import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Python } from "./python.ts";
import { endOf } from "./end_of.ts";
import { RunFailedError } from "./run_failure.ts";
import { LIMITS, NETWORK_PROGRAM, WALLED } from "./walls.ts";

/** What a program of a run may see of the host. */
export interface Places {
  readonly cwd: string;
  /** Folders and files. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /** No file may be larger. */
  readonly fileBytes: number;
  /** Folders of the run's own: for its root, and what it sees as `/tmp` and `/dev/shm`. */
  readonly own: { readonly root: string; readonly temporary: string; readonly shared: string };
  /** Its way out; left out: none. */
  readonly network?: WallNetwork | undefined;
}

/** Addresses within the walls that lead out. */
export interface WallNetwork {
  /** Holds a socket for each name. */
  readonly folder: string;
  /** `NAME=ADDRESS:PORT` */
  readonly addresses: readonly string[];
  /** A file in place of `/etc/hosts`. */
  readonly hosts: string;
}

/** A program and its arguments. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
}

/** Puts a program behind the limits, and the walls, that this host can give. */
export interface Sandbox {
  /**
   * True: the program sees the system's programs and libraries and its own places, nothing else of
   * the disk, no process but its own, and no network but the one it is given; none of its processes
   * outlives it.
   */
  readonly hasWalls: boolean;
  wrap(program: Program, places: Places): Program;
}

export interface SandboxOptions {
  /** The cloud's folder, with its keys and databases. */
  readonly dataDir: string;
  /** Runs within the walls, too. */
  readonly python: Pick<Python, "program" | "prefixes">;
}

/** The usual size of a block in the shell's limits, bytes. */
const BLOCK_BYTES = 512;
const PLAIN = `${LIMITS}exec nice -n 10 "$@"`;
const NAMESPACES = [
  ...["--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts"],
  ...["--mount-proc", "--fork", "--kill-child=KILL"],
];
/** Where the sockets of a run's network lie within the walls. */
const SOCKETS = "/run/machine-cloud";

/** Limits only. */
export function plainSandbox(): Sandbox {
  return {
    hasWalls: false,
    wrap: ({ program, args }, { fileBytes }) =>
      Deno.build.os === "windows"
        ? { program, args }
        : { program: "/bin/sh", args: ["-c", PLAIN, "sh", blocksOf(fileBytes), program, ...args] },
  };
}

/** Limits, and walls made of namespaces. Linux only. */
export function walledSandbox({ dataDir, python }: SandboxOptions): Sandbox {
  return {
    hasWalls: true,
    wrap({ program, args }, { cwd, readable, writable, fileBytes, own, network }) {
      const same = (mode: string) => (path: string) => [mode, path, path];
      const places = [
        ...python.prefixes.filter((path) => path !== "/" && path !== "/usr").flatMap(same("base")),
        ...same("hide")(dataDir),
        ...["own", own.temporary, "/tmp", "own", own.temporary, "/var/tmp"],
        ...["own", own.shared, "/dev/shm"],
        ...readable.flatMap(same("ro")),
        ...(network ? ["ro", network.hosts, "/etc/hosts", "ro", network.folder, SOCKETS] : []),
        ...writable.flatMap(same("rw")),
      ];
      return {
        program: "unshare",
        args: [
          ...[...NAMESPACES, "sh", "-c", WALLED, "sh", blocksOf(fileBytes)],
          ...[own.root, dataDir, cwd, ...places, "--"],
          ...[python.program, "-I", "-S", "-c", NETWORK_PROGRAM],
          ...[...network?.addresses ?? [], SOCKETS, "--", program, ...args],
        ],
      };
    },
  };
}

function blocksOf(bytes: number): string {
  return String(Math.ceil(bytes / BLOCK_BYTES));
}

/** Longest time of the trial, on a host with twenty programs a processor, too. */
const TRIAL_MS = 60_000;
/** The usual libraries have to load, too. */
const TRIAL = `
import ctypes, os, sqlite3, ssl, sys
secret, fixed = sys.argv[1:]
assert not os.path.exists(secret), "the cloud's folder can be seen"
open("out", "w").close()
try: open(fixed + "/out", "w").close()
except OSError: sys.exit(0)
sys.exit("what is read-only can be written")`;

/**
 * Tries whether this host lets the cloud's user make walls: some systems switch user
 * namespaces off, and most container engines do not let their containers have any.
 *
 * @param folder of the trial; removed afterwards.
 * @returns the best sandbox, and why there is none with walls.
 * @throws {RunFailedError} when the host had no time for the trial, which says nothing of walls; the
 * signal's reason.
 */
export async function bestSandbox(
  options: SandboxOptions,
  { processes, clock, env, folder, signal }: {
    readonly processes: ProcessRunner;
    readonly clock: Clock;
    readonly env: Readonly<Record<string, string>>;
    readonly folder: string;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly sandbox: Sandbox; readonly why: string }> {
  const plain = plainSandbox();
  if (Deno.build.os !== "linux") return { sandbox: plain, why: "only Linux has namespaces" };
  const lines: string[] = [];
  let isLate = false;
  try {
    const data = join(folder, "data");
    const own = join(data, "own");
    const secret = join(data, "secret");
    const fixed = join(data, "fixed");
    await Deno.mkdir(own, { recursive: true, mode: 0o700 });
    await Deno.mkdir(fixed);
    await Deno.writeTextFile(secret, "");
    const places = { root: join(data, "root"), temporary: own, shared: own };
    await Deno.mkdir(places.root);
    const trial = walledSandbox({ ...options, dataDir: data }).wrap(
      { program: options.python.program, args: ["-I", "-c", TRIAL, secret, fixed] },
      { cwd: own, readable: [fixed], writable: [own], fileBytes: 1_000_000, own: places },
    );
    const child = processes.start({
      ...trial,
      cwd: folder,
      env,
      onLine: (_stream, line) => void lines.push(line),
    });
    const end = await endOf(child, { clock, limitMs: TRIAL_MS, signal });
    isLate = end.isLate;
    if (end.code === 0 && await exists(join(own, "out"))) {
      return { sandbox: walledSandbox(options), why: "" };
    }
  } catch (error) {
    lines.push((error as Error).message);
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
  signal.throwIfAborted();
  if (isLate) {
    throw new RunFailedError(
      Code.Unavailable,
      "the trial of the walls around scripts took longer than a minute; try again when the host " +
        "that trains has less to do",
    );
  }
  return { sandbox: plain, why: lines.at(-1) ?? "the trial of namespaces failed" };
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

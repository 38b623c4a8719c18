import { join } from "node:path";
import type { ProcessRunner } from "../../shared/process/child_process.ts";
import type { Clock } from "../../shared/time/clock.ts";

/** What a program of a run may see of the cloud's folder. */
export interface Places {
  readonly cwd: string;
  /** Folders and files. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /** No file may be larger. */
  readonly fileBytes: number;
}

/** A program and its arguments. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
}

/** Puts a program behind the limits, and the walls, that this computer can give. */
export interface Sandbox {
  /**
   * True: the program sees nothing of the cloud's folder but its own places, and no process but its
   * own; none of those outlives it.
   */
  readonly hidesCloud: boolean;
  wrap(program: Program, places: Places): Program;
}

export interface SandboxOptions {
  /** The cloud's folder, with its keys and databases. */
  readonly dataDir: string;
}

/** The usual size of a block in the shell's limits, bytes. */
const BLOCK_BYTES = 512;
/**
 * No memory dumps; no file larger than the disk limit; the first to go when memory is used up. Later
 * on, behind the cloud itself in the line for processors.
 */
const LIMITS = `ulimit -c 0
ulimit -f "$1"
shift
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
`;
const PLAIN = `${LIMITS}exec nice -n 10 "$@"`;

/**
 * First process of namespaces of its own: covers the cloud's folder with an empty one and lets the
 * places show through, held open by descriptors from 3 on. When it ends the kernel ends all others.
 */
const WALLED = `${LIMITS}set -e
data=$1 cwd=$2
shift 2
n=0
while [ "$1" != -- ]; do
  n=$((n + 1))
  kind=f
  if [ -d "$2" ]; then kind=d; fi
  eval "mode$n=\\$1 path$n=\\$2 kind$n=$kind; exec $((n + 2))<\\"\\$2\\""
  shift 2
done
shift
mount -t tmpfs -o size=1m,mode=755 tmpfs "$data"
i=0
while [ $i -lt $n ]; do
  i=$((i + 1))
  eval "mode=\\$mode$i path=\\$path$i kind=\\$kind$i"
  if [ $kind = d ]; then
    mkdir -p "$path"
  else
    mkdir -p "\${path%/*}"
    [ -e "$path" ] || : >"$path"
  fi
  mount --no-canonicalize --bind "/proc/self/fd/$((i + 2))" "$path"
  if [ "$mode" = ro ]; then mount -o remount,bind,ro "$path"; fi
  eval "exec $((i + 2))<&-"
done
mount -o remount,bind,ro "$data"
cd "$cwd"
nice -n 10 setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
`;
const NAMESPACES = ["--user", "--map-root-user", "--mount", "--pid", "--mount-proc", "--fork"];
/** More than the shell has descriptors of one digit for. */
const MOST_PLACES = 7;

/** Limits only. */
export function plainSandbox(): Sandbox {
  return {
    hidesCloud: false,
    wrap: ({ program, args }, { fileBytes }) =>
      Deno.build.os === "windows"
        ? { program, args }
        : { program: "/bin/sh", args: ["-c", PLAIN, "sh", blocksOf(fileBytes), program, ...args] },
  };
}

/** Limits, and walls made of user, mount and process namespaces. Linux only. */
export function walledSandbox({ dataDir }: SandboxOptions): Sandbox {
  return {
    hidesCloud: true,
    wrap({ program, args }, { cwd, readable, writable, fileBytes }) {
      const places = [
        ...readable.flatMap((path) => ["ro", path]),
        ...writable.flatMap((path) => ["rw", path]),
      ];
      if (places.length > 2 * MOST_PLACES) throw new Error("too many places for one program");
      const shell = ["sh", "-c", WALLED, "sh", blocksOf(fileBytes), dataDir, cwd, ...places, "--"];
      return {
        program: "unshare",
        args: [...NAMESPACES, "--kill-child=KILL", ...shell, program, ...args],
      };
    },
  };
}

function blocksOf(bytes: number): string {
  return String(Math.ceil(bytes / BLOCK_BYTES));
}

/** Longest time of the trial. */
const TRIAL_MS = 10_000;
const TRIAL = `test ! -e "$1" && echo x >out && ! umount -l "$2" && ! echo x >"$3/out"`;

/**
 * Tries whether this computer lets the cloud's user make walls: some systems switch user
 * namespaces off, and most container engines do not let their containers have any.
 *
 * @param folder of the trial; removed afterwards.
 * @returns the best sandbox, and why there is none with walls.
 */
export async function bestSandbox(
  options: SandboxOptions,
  { processes, clock, env, folder }: {
    readonly processes: ProcessRunner;
    readonly clock: Clock;
    readonly env: Readonly<Record<string, string>>;
    readonly folder: string;
  },
): Promise<{ readonly sandbox: Sandbox; readonly why: string }> {
  const plain = plainSandbox();
  if (Deno.build.os !== "linux") return { sandbox: plain, why: "only Linux has namespaces" };
  const lines: string[] = [];
  try {
    const data = join(folder, "data");
    const own = join(data, "own");
    const secret = join(data, "secret");
    const fixed = join(data, "fixed");
    await Deno.mkdir(own, { recursive: true, mode: 0o700 });
    await Deno.mkdir(fixed);
    await Deno.writeTextFile(secret, "");
    const trial = walledSandbox({ ...options, dataDir: data }).wrap(
      { program: "/bin/sh", args: ["-c", TRIAL, "sh", secret, data, fixed] },
      { cwd: own, readable: [fixed], writable: [own], fileBytes: 1_000_000 },
    );
    const child = processes.start({
      ...trial,
      cwd: folder,
      env,
      onLine: (_stream, line) => void lines.push(line),
    });
    const timer = clock.setTimer(TRIAL_MS, () => void child.kill());
    const { code } = await child.exited;
    timer.cancel();
    if (code === 0 && await exists(join(own, "out"))) {
      return { sandbox: walledSandbox(options), why: "" };
    }
  } catch (error) {
    lines.push((error as Error).message);
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
  return { sandbox: plain, why: lines.at(-1) ?? "the trial of namespaces failed" };
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

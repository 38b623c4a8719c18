import { createHash } from "node:crypto";
import { type ProcessRunner, SpawnError } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Inherited } from "./run_environment.ts";

/** The programs that are known, both with the same commands. */
export type EngineKind = "podman" | "docker";

export interface ContainerEngineOptions {
  readonly kind: EngineKind;
  /** Left out: the kind's own name, looked for in PATH. */
  readonly program?: string | undefined;
  /** Folder of the cloud's data: it distinguishes containers from those of other clouds. */
  readonly dataDir: string;
  /** Variables of this process: the engine needs its user's home, and where its service listens. */
  readonly inherited: Inherited;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
}

/** What a command of the engine said. */
export interface EngineAnswer {
  /** Null when it was killed, as it took too long. */
  readonly code: number | null;
  /** Of standard output. */
  readonly lines: readonly string[];
  /** The last line of standard error. */
  readonly error: string;
}

const LABEL = "machine-cloud-training";
/** Removing a container whose program does not listen takes ten seconds. */
const COMMAND_MS = 60_000;

/** Commands of podman or docker on this host. */
export class ContainerEngine {
  readonly kind: EngineKind;
  readonly program: string;
  /** `name=value`, on all containers of this cloud and no other. */
  readonly label: string;

  constructor(private readonly options: ContainerEngineOptions) {
    this.kind = options.kind;
    this.program = options.program ?? options.kind;
    const cloud = createHash("sha256").update(options.dataDir).digest("hex").slice(0, 16);
    this.label = `${LABEL}=${cloud}`;
  }

  /** Whether an image is on this host already. */
  async hasImage(uri: string): Promise<boolean> {
    return (await this.command(["image", "inspect", uri])).code === 0;
  }

  /** Whether the system ended a container because it took all memory it may. */
  async ranOutOfMemory(name: string): Promise<boolean> {
    const { code, lines } = await this.command([
      ...["container", "inspect", "--format", "{{.State.OOMKilled}}", name],
    ]);
    return code === 0 && lines.at(-1) === "true";
  }

  /** Ends and removes a container; does nothing when there is none. */
  async remove(name: string): Promise<void> {
    await this.command(["rm", "--force", "--volumes", name]);
  }

  /** Ends and removes all containers of this cloud. @returns how many. */
  async removeAll(): Promise<number> {
    const { code, lines, error } = await this.command([
      ...["ps", "--all", "--quiet", "--filter", `label=${this.label}`],
    ]);
    if (code !== 0) throw new Error(`cannot list containers with ${this.program}: ${error}`);
    const ids = lines.map((line) => line.trim()).filter((id) => /^[0-9a-f]+$/i.test(id));
    if (ids.length > 0) await this.command(["rm", "--force", "--volumes", ...ids]);
    return ids.length;
  }

  /** Runs a command that takes a moment. */
  async command(args: readonly string[]): Promise<EngineAnswer> {
    const { processes, clock, inherited } = this.options;
    const lines: string[] = [];
    let error = "";
    try {
      const child = processes.start({
        ...{ program: this.program, args, env: inherited },
        onLine: (stream, line) => {
          if (stream === "stdout") lines.push(line);
          else error = line;
        },
      });
      const timer = clock.setTimer(COMMAND_MS, () => void child.kill());
      const { code } = await child.exited;
      timer.cancel();
      return { code, lines, error };
    } catch (thrown) {
      if (!(thrown instanceof SpawnError)) throw thrown;
      return { code: null, lines, error: thrown.message };
    }
  }
}

import { join } from "node:path";
import { replaceSymlink } from "../../shared/files/atomic_write.ts";
import { describeFsError } from "../../shared/files/fs_error.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";
import type { UpdateTarget } from "../settings/device_config.ts";
import type { AgentState, InstalledVersion } from "../state/agent_state.ts";
import { chooseServer, isSameVersion, versionName } from "./server_choice.ts";

export interface ServerVersionsOptions {
  readonly state: AgentState;
  /** Folder of the link to the server in use. */
  readonly binDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: this computer's. */
  readonly os?: string;
}

const SERVER = "machine-server";

/** Which server is installed, and the way from there to the one that the cloud names. */
export class ServerVersions {
  readonly #options: ServerVersionsOptions;
  readonly #os: string;
  #reported: string | undefined;

  constructor(options: ServerVersionsOptions) {
    this.#options = options;
    this.#os = options.os ?? Deno.build.os;
  }

  /** The version in use, also before the first start in this run. */
  get installed(): InstalledVersion | undefined {
    return this.#options.state.installed(SERVER);
  }

  /**
   * The version that ought to run: the cloud's where it can be had, else the installed one.
   * Undefined when there is neither. Says once what is in the way.
   */
  async wanted(target: UpdateTarget | undefined): Promise<InstalledVersion | undefined> {
    const choice = chooseServer(target);
    const { installed } = this;
    switch (choice.kind) {
      case "local": {
        const problem = await this.#fileProblem(choice.version.path);
        this.#report(problem);
        return problem === undefined ? choice.version : installed;
      }
      case "refused":
        this.#report(choice.reason);
        return installed;
      case "keep":
        this.#report(
          installed ? undefined : "the cloud names no machine-server to run; set " +
            "agent.version_control.machine-server in the machine's configuration to file:///PATH",
        );
        return installed;
    }
  }

  /**
   * Makes a version the installed one.
   *
   * @returns what to start.
   * @throws {FileError} the version before is then still installed.
   */
  async install(wanted: InstalledVersion): Promise<string> {
    const { state, binDir, clock, log } = this.#options;
    const { installed } = this;
    const link = join(binDir, SERVER);
    // Links need a privilege on Windows that an agent may not have.
    const isLinked = this.#os !== "windows";
    if (isLinked && !await leadsTo(link, wanted.path)) await replaceSymlink(wanted.path, link);
    if (!installed || !isSameVersion(installed, wanted)) {
      state.saveInstalled(SERVER, wanted, clock.now());
      log.info("machine-server installed", { version: versionName(wanted) });
    }
    return isLinked ? link : wanted.path;
  }

  async #fileProblem(path: string): Promise<string | undefined> {
    try {
      const { isFile, mode } = await Deno.stat(path);
      if (!isFile) return `cannot use ${path} as machine-server: it is not a file`;
      const isExecutable = this.#os === "windows" || ((mode ?? 0) & 0o111) !== 0;
      return isExecutable
        ? undefined
        : `cannot use ${path} as machine-server: run chmod +x ${path}`;
    } catch (error) {
      return describeFsError(error, "use", path);
    }
  }

  /** Each problem once; again when it came back. */
  #report(problem: string | undefined): void {
    if (problem === this.#reported) return;
    this.#reported = problem;
    if (problem === undefined) return;
    const isRunnable = this.installed !== undefined;
    const rest = isRunnable ? "; the installed machine-server stays" : "";
    this.#options.log.error(`${problem}${rest}`);
  }
}

async function leadsTo(link: string, target: string): Promise<boolean> {
  try {
    return await Deno.readLink(link) === target;
  } catch {
    return false;
  }
}

import { join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import type { ProgramAnswer, RunProgram } from "../../../shared/base/process/run_program.ts";
import { firstLine } from "../outcomes/system_outcome.ts";
import { keptOptions } from "./apt_files.ts";
import { parsePolicy, type Repository } from "./origins.ts";

const PACKAGE = "unattended-upgrades";
/** The service that runs apt for the agent; systemd knows one of a name, so there is one at a time. */
const APT_SERVICE = "machine-agent-apt";
const LIMIT_MINUTES = 30;
/** apt waits so long for another program that installs. Seconds. */
const LOCK_WAIT_S = 600;
const QUERY_LIMIT_MS = 60_000;

/** apt could not do it; one sentence. */
export class AptError extends Error {
  override readonly name = "AptError";
}

/** This host's apt. */
export class Apt {
  readonly #run: RunProgram;
  readonly #tmp: string;

  /** @param tmp a folder for a file of a moment. */
  constructor(run: RunProgram, tmp: string) {
    this.#run = run;
    this.#tmp = tmp;
  }

  async isHere(signal: AbortSignal): Promise<boolean> {
    return (await this.#ask(["apt-get", "--version"], signal)).code === 0;
  }

  /** Whether unattended-upgrades is installed. */
  async isInstalled(signal: AbortSignal): Promise<boolean> {
    const query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", PACKAGE];
    const { code, stdout } = await this.#ask(query, signal);
    return code === 0 && stdout.trim() === "installed";
  }

  /** Fetches the lists of packages, and installs unattended-upgrades. @throws {AptError} */
  async install(signal: AbortSignal): Promise<void> {
    await this.update(signal);
    await this.#change(["install", "--yes", "--no-install-recommends", PACKAGE], signal);
  }

  /** Fetches the lists of packages. @throws {AptError} */
  async update(signal: AbortSignal): Promise<void> {
    await this.#change(["update"], signal);
  }

  /** @throws {AptError} */
  async repositories(signal: AbortSignal): Promise<Repository[]> {
    const answer = await this.#ask(["apt-cache", "policy"], signal);
    if (answer.code !== 0) throw failed("apt-cache policy", answer);
    return parsePolicy(answer.stdout);
  }

  /** The options in the text of a file of apt's configuration, as one to a line. @throws {AptError} */
  async optionsOf(text: string, signal: AbortSignal): Promise<string[]> {
    const file = join(this.#tmp, "apt-options");
    const config = join(this.#tmp, "apt-config");
    const nowhere = join(this.#tmp, "none");
    try {
      await writeFileAtomic(file, text);
      await writeFileAtomic(
        config,
        `Dir::Etc::parts "${nowhere}";\nDir::Etc::main "${nowhere}";\n#include "${file}";\n`,
      );
      const dump = [`APT_CONFIG=${config}`, "apt-config", "dump", "--no-empty"];
      const answer = await this.#ask(dump, signal);
      if (answer.code !== 0) throw failed("apt-config dump", answer);
      return keptOptions(answer.stdout);
    } finally {
      await removeIfExists(file);
      await removeIfExists(config);
    }
  }

  #ask(command: readonly string[], signal: AbortSignal): Promise<ProgramAnswer> {
    return this.#run("env", ["LC_ALL=C", ...command], QUERY_LIMIT_MS, signal);
  }

  /**
   * Runs apt as a service of its own: dpkg must not be cut off because the agent ends, is updated, or
   * is out of memory.
   */
  async #change(args: readonly string[], signal: AbortSignal): Promise<void> {
    const answer = await this.#run(
      "systemd-run",
      [
        ...["--quiet", "--wait", "--pipe", "--collect", `--unit=${APT_SERVICE}`],
        ...[`--property=RuntimeMaxSec=${LIMIT_MINUTES}min`, "--property=Nice=10"],
        ...["--setenv=DEBIAN_FRONTEND=noninteractive", "--setenv=LC_ALL=C"],
        ...["apt-get", "--quiet", "-o", `DPkg::Lock::Timeout=${LOCK_WAIT_S}`],
        ...["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"],
        ...["-o", "APT::Update::Error-Mode=any", ...args],
      ],
      (LIMIT_MINUTES + 1) * 60_000,
      signal,
    );
    signal.throwIfAborted();
    if (answer.code !== 0) throw failed(`apt-get ${args[0]}`, answer);
  }
}

function failed(what: string, { code, stderr, stdout }: ProgramAnswer): AptError {
  const said = `${stderr}\n${stdout}`.split("\n").find((line) => /^(E|Err\b)/.test(line)) ?? stderr;
  return new AptError(`${what} failed with ${code}: ${firstLine(said) || "without output"}`);
}

/** A machine whose configuration is a file. */
import { createHash } from "node:crypto";
import { toError } from "../../../shared/base/errors/to_error.ts";
import {
  type Candidate,
  candidateOf,
  problemText,
  refusing,
} from "../../config/source/candidate.ts";
import {
  ConfigurationFileError,
  type LocalFile,
  readLocalFile,
  watchFile,
} from "../../config/source/local_file.ts";
import type { MachineContext } from "./machine_context.ts";
import type { MachineCore } from "./machine_core.ts";

export class LocalSide {
  readonly #stop = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  /** @param path of the configuration. */
  constructor(private readonly context: MachineContext, private readonly path: string) {}

  /**
   * Listens, offers the configuration and follows the file.
   *
   * @throws {ConfigurationFileError} when nothing of the file can be used.
   */
  async start(core: MachineCore, file: LocalFile): Promise<void> {
    const { path } = this;
    const candidate = await this.#candidate(file);
    const fatal = candidate.problems.filter((problem) => problem.fatal);
    if (fatal.length > 0) {
      throw new ConfigurationFileError(`${path}: ${fatal.map(problemText).join("; ")}`);
    }
    core.setIdentity(candidate.config);
    await core.port.listen(candidate.config);
    await core.applier.offer(candidate);
    core.port.announce();
    this.#watching = watchFile(path, {
      clock: this.context.clock,
      signal: this.#stop.signal,
      onChange: (isCalm) => void this.#reload(core, isCalm),
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the server is shutting down"));
    await this.#watching;
  }

  /** What cannot be read changes nothing, and is reported when it isn't being written any more. */
  async #reload(core: MachineCore, isCalm: boolean): Promise<void> {
    try {
      const file = await readLocalFile(this.path, this.context.readVariable);
      const candidate = await this.#candidate(file);
      if (!isCalm && refusing(candidate.problems).length > 0) return;
      await core.applier.offer(candidate);
    } catch (error) {
      if (isCalm) core.applier.refuse(toError(error).message);
    }
  }

  async #candidate(file: LocalFile): Promise<Candidate> {
    for (const name of file.missingVariables) {
      this.context.log.warn(`the configuration names \${${name}}, which is not set`);
    }
    // The schemas are large; a machine with a cloud never loads them.
    const { parseMachineConfig } = await import("../../../shared/config/parse.ts");
    const { config, ...findings } = parseMachineConfig(file.json);
    const revision = config.revision || `local-${digest(file.text)}`;
    return candidateOf({ ...findings, config: { ...config, revision } }, "file");
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

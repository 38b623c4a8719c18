import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type {
  AgentService,
  GetTargetsResponse,
  Target as CloudTarget,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { UpdateTarget } from "../../settings/device_config.ts";
import type { CurrentSettings } from "../../settings/settings_source.ts";
import type { ProgramName } from "../updater/slot.ts";
import type { Target } from "../updater/target.ts";
import type { Watched } from "../../../shared/workers/watched.ts";
import type { ReleaseKeys } from "./release_keys.ts";
import type { ReleasePolicy } from "./release_policy.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** What the programs of this machine are to be; undefined: what is there stays. */
export interface Targets {
  readonly agent: Target | undefined;
  readonly server: Target | undefined;
}

export interface TargetsPollOptions {
  readonly client: Pick<Client<typeof AgentService>, "getTargets">;
  readonly partId: string;
  /** `linux/amd64` */
  readonly platform: string;
  /** Versions that would be started now; empty when there is none. */
  readonly installed: () => { readonly agent: string; readonly server: string };
  /** Versions that have stood their trial, which those on trial have not; likewise. */
  readonly trusted: () => { readonly agent: string; readonly server: string };
  /** What a cloud reports that knows no targets, once it has answered in this run. */
  readonly current: Watched<CurrentSettings>;
  readonly answered: Watched<boolean>;
  readonly keys: Pick<ReleaseKeys, "learn">;
  readonly policy: Pick<ReleasePolicy, "problemOf">;
  readonly onTargets: (targets: Targets) => void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

const QUESTION_TIMEOUT_MS = 15_000;
/** Changes are requested at once when the settings report them; this finds the rest. */
const ASK_EVERY_MS = 60_000;
const SHORTEST_RETRY_MS = 5_000;
/** A cloud without targets may be replaced by one that has them. */
const ASK_OTHERS_EVERY_MS = 10 * 60_000;

/**
 * Queries the cloud which versions this machine is to run: the product's own clouds by target,
 * signed and with a reason where there is none; other clouds by what their settings name.
 */
export class TargetsPoll {
  readonly #options: TargetsPollOptions;
  #isOtherCloud = false;
  #askAgainMs = 0;

  constructor(options: TargetsPollOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { answered, current, clock, random = Math.random } = this.#options;
    const backoff = new Backoff({ minMs: SHORTEST_RETRY_MS, maxMs: ASK_EVERY_MS, jitter: false });
    await answered.until(Boolean, signal);
    const turn = async () => {
      if (!await this.#ask(signal)) return backoff.next();
      backoff.reset();
    };
    const waits = { clock, intervalMs: ASK_EVERY_MS, random, changes: [current] };
    await pollLoop(turn, waits, signal);
  }

  /** Whether it is known now what the programs are to be. */
  async #ask(signal: AbortSignal): Promise<boolean> {
    const { client, partId, platform, installed, onTargets, clock, log } = this.#options;
    if (this.#isOtherCloud && clock.monotonicMs() < this.#askAgainMs) {
      return await this.#takeSettings();
    }
    const { agent, server } = installed();
    const question = { partId, platform, agentInstalled: agent, serverInstalled: server };
    try {
      const answer = await client.getTargets(question, { signal, timeoutMs: QUESTION_TIMEOUT_MS });
      this.#isOtherCloud = false;
      onTargets(await this.#checked(answer));
      return true;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectError)) throw error;
      if (error.code === Code.Unimplemented) {
        if (!this.#isOtherCloud) log.info("the cloud knows no targets; its settings name versions");
        this.#isOtherCloud = true;
        this.#askAgainMs = clock.monotonicMs() + ASK_OTHERS_EVERY_MS;
        return await this.#takeSettings();
      }
      // The poll of the settings shows that the cloud is away; once is enough.
      log.debug("cannot fetch the targets from the cloud", { code: Code[error.code] });
      return false;
    }
  }

  async #checked({ agent, server, keys }: GetTargetsResponse): Promise<Targets> {
    await this.#options.keys.learn(keys);
    return await this.#vetted({ agent: fromCloud(agent), server: fromCloud(server) });
  }

  async #takeSettings(): Promise<boolean> {
    const { current, onTargets } = this.#options;
    const { device } = current.value;
    const named = { agent: fromSettings(device?.agent), server: fromSettings(device?.server) };
    onTargets(await this.#vetted(named));
    return true;
  }

  /** Whichever way a target came, the same is asked of it. */
  async #vetted({ agent, server }: Targets): Promise<Targets> {
    const { policy, trusted } = this.#options;
    const current = trusted();
    const vet = async (program: ProgramName, target: Target | undefined, trusted: string) => {
      if (!target) return undefined;
      const problem = await policy.problemOf(program, target, trusted);
      return problem === undefined ? target : { ...target, problem };
    };
    return {
      agent: await vet("machine-agent", agent, current.agent),
      server: await vet("machine-server", server, current.server),
    };
  }
}

function fromCloud(target: CloudTarget | undefined): Target | undefined {
  if (!target || (target.version === "" && target.problem === "")) return undefined;
  const { version, url, size, keyId, platform, problem } = target;
  return {
    version,
    url,
    sha256: target.sha256.toHex(),
    size: Number(size),
    signature: target.signature.toHex(),
    keyId,
    platform,
    ...(problem === "" ? {} : { problem }),
  };
}

function fromSettings(target: UpdateTarget | undefined): Target | undefined {
  if (!target) return undefined;
  const { version, url, sha256 } = target;
  return { version, url, sha256 };
}

import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import {
  type AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigRequestSchema,
  type HostInfo,
} from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { Backoff } from "../../shared/base/time/backoff.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { CloudReach } from "./cloud_reach.ts";
import { fromResponse } from "./device_config.ts";
import type { SettingsSource } from "./settings_source.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";

/** What the agent reports of itself with each question. */
export interface AgentFacts {
  readonly agentVersion: string;
  readonly agentUptimeMs: number;
  /** Empty when none is installed. */
  readonly serverInstalled: string;
  /** Empty when none runs. */
  readonly serverRunning: string;
  /** Undefined when none runs. */
  readonly serverUptimeMs: number | undefined;
}

export interface DeviceConfigPollOptions {
  readonly client: Client<typeof AgentDeviceService>;
  readonly partId: string;
  readonly host: HostInfo;
  readonly facts: () => AgentFacts;
  readonly settings: SettingsSource;
  /** Where it says whether the cloud answers. */
  readonly reach: CloudReach;
  /** Notified at each turn of the loop. */
  readonly onTurn?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** The call's deadline. Fixed by the protocol's agents. */
const QUESTION_TIMEOUT_MS = 15_000;
/** No cloud is queried more often, whatever interval it names. */
const SHORTEST_INTERVAL_MS = 5_000;
/**
 * Nor less often: by the answers the agent knows whether the machine is online, and without a turn
 * for some minutes this worker counts as stuck, for which the watchdog has the agent killed.
 */
const LONGEST_INTERVAL_MS = 60_000;
const LONGEST_RETRY_MS = 30_000;

/** Asks the cloud for the agent's settings again and again. */
export class DeviceConfigPoll {
  readonly #options: DeviceConfigPollOptions;
  #isAway = false;

  constructor(options: DeviceConfigPollOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const backoff = new Backoff({
      minMs: SHORTEST_INTERVAL_MS,
      maxMs: LONGEST_RETRY_MS,
      jitter: false,
    });
    const onFailure = (error: unknown) => {
      if (!(error instanceof ConnectError)) throw error;
      this.#report(error);
    };
    const waits = { clock, intervalMs: SHORTEST_INTERVAL_MS, backoff, random, onFailure };
    await pollLoop((signal) => this.#ask(signal), waits, signal);
  }

  /** The interval that the cloud wants, in milliseconds. */
  async #ask(signal: AbortSignal): Promise<number> {
    const { client, settings, reach, onTurn } = this.#options;
    onTurn?.();
    const response = await client.deviceAgentConfig(this.#question(), {
      signal,
      timeoutMs: QUESTION_TIMEOUT_MS,
    });
    const device = fromResponse(response);
    settings.accept(device);
    this.#report(undefined);
    if (!reach.answered.value) reach.answered.value = true;
    const intervalMs = Math.max(device.checkIntervalMs, SHORTEST_INTERVAL_MS);
    return Math.min(intervalMs, LONGEST_INTERVAL_MS);
  }

  #question(): DeviceAgentConfigRequest {
    const { partId, host, facts } = this.#options;
    const { agentVersion, agentUptimeMs, serverInstalled, serverRunning, serverUptimeMs } = facts();
    return create(DeviceAgentConfigRequestSchema, {
      id: partId,
      hostInfo: host,
      versionInfo: {
        agentRunning: agentVersion,
        agentInstalled: agentVersion,
        viamServerRunning: serverRunning,
        viamServerInstalled: serverInstalled,
      },
      agentUptime: durationFromMs(Math.round(agentUptimeMs)),
      ...(serverUptimeMs === undefined
        ? {}
        : { viamServerUptime: durationFromMs(Math.round(serverUptimeMs)) }),
    });
  }

  /** A line when the cloud goes away and one when it is back, not one a question. */
  #report(error: ConnectError | undefined): void {
    const { log, reach: { reached } } = this.#options;
    if (error) {
      const text = "the cloud gives no settings; the last ones stay in use";
      const fields = { code: Code[error.code], error: error.rawMessage };
      if (this.#isAway) log.debug(text, fields);
      else if (error.code === Code.Unauthenticated) {
        log.error(text, { event: "cloud_credentials_refused", ...fields });
      } else log.warn(text, { event: "cloud_unreachable", ...fields });
    } else if (this.#isAway) log.info("the cloud answers again");
    this.#isAway = error !== undefined;
    if (reached.value === this.#isAway) reached.value = !this.#isAway;
  }
}

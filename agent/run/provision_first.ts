import { toError } from "../../shared/base/errors/to_error.ts";
import { CredentialsError } from "../../shared/cloud/credentials/credentials_file.ts";
import { releaseIdleMemory } from "../../shared/base/memory/idle_memory.ts";
import { linkedController } from "../../shared/base/time/linked_controller.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";
import { runWorkers, type Worker } from "../../shared/workers/run_workers.ts";
import { Watched } from "../../shared/workers/watched.ts";
import type { EnrollmentSettings } from "../settings/enrollment_settings.ts";
import { enrollFirst } from "./enroll_first.ts";
import { secretsOf } from "../cloud/logs/known_secrets.ts";
import type { KnownSecrets } from "../cloud/logs/known_secrets.ts";
import type { AgentOptions } from "../options/options.ts";
import { tendWatchdog } from "../service/watchdog.ts";
import { type DefaultsFile, SettingsSource } from "../settings/settings_source.ts";
import type { AgentState } from "../state/agent_state.ts";
import { networksWith } from "./compose_networks.ts";
import type { AgentDeps } from "./deps.ts";
import { NewCredentials } from "./new_credentials.ts";
import { keepProvisioningStatus } from "./provisioning_status.ts";

export interface ProvisionParts {
  readonly options: AgentOptions;
  readonly deps: AgentDeps;
  readonly state: AgentState;
  readonly defaults: DefaultsFile;
  readonly secrets: KnownSecrets;
  /** How the device enrols itself as a machine; undefined: it does not. */
  readonly enrollment: EnrollmentSettings | undefined;
}

const LOOK_EVERY_MS = 2_000;
/** At the host's start NetworkManager may come after the agent. */
const MANAGER_MS = 60_000;
/** What a person gave is still tried out, with a verdict to come. */
const UNDER_WAY = new Set(["connecting", "verifying"]);

/**
 * Lets people give this machine its credentials, over the hotspot or Bluetooth. Ends when there is
 * a credentials file that can be used, however it came, or with the signal.
 *
 * @param missing why there are none.
 * @throws {CredentialsError} when there is no NetworkManager to do it with.
 */
export async function provisionFirst(
  { options, deps, state, defaults, secrets, enrollment }: ProvisionParts,
  missing: CredentialsError,
  signal: AbortSignal,
): Promise<void> {
  const { clock, service } = deps;
  const log = deps.log.child("provisioning");
  const { current } = new SettingsSource({
    state,
    defaults,
    overrides: { debug: options.debug, wait: options.wait },
    beforeReport: (settings) => secrets.add(secretsOf(settings)),
    clock,
    log,
  });
  await untilManager(deps, missing, signal);
  const credentials = new NewCredentials(options.credentialsFile, deps, secrets);
  const networks = networksWith({
    deps,
    state,
    current,
    cloudAnswered: new Watched(false),
    appAddress: () => credentials.appAddress,
    mayReboot: () => false,
  }, credentials);
  const done = linkedController(signal);
  log.info("there are no machine credentials yet; the machine waits to be set up");
  service.ready();
  const look = async () => {
    await credentials.look();
    if (credentials.has() && !UNDER_WAY.has(networks.report.value.state)) done.abort();
  };
  let waitsFor = "";
  const waiting = (reason: string) => void (waitsFor = reason);
  const enrolling = enrollment && { options, deps, secrets, settings: enrollment, waiting };
  const workers: Worker[] = [
    networks.worker,
    ...(enrolling
      ? [{
        name: "enrollment",
        run: async (stop: AbortSignal) => {
          await enrollFirst(enrolling, stop);
          return "done" as const;
        },
      }]
      : []),
    {
      name: "credentials",
      run: (stop) => pollLoop(look, { clock, intervalMs: LOOK_EVERY_MS }, stop),
    },
    {
      name: "status file",
      run: (stop) =>
        keepProvisioningStatus(
          { options, deps, report: networks.report, waitingFor: () => waitsFor },
          stop,
        ),
    },
    {
      name: "watchdog",
      run: (stop) => tendWatchdog({ manager: service, stuck: () => undefined, clock, log }, stop),
    },
    { name: "memory", run: (stop) => releaseIdleMemory({ memory: deps.memory, clock }, stop) },
  ];
  await runWorkers(workers, { signal: done.signal, clock, log });
}

/** {@link provisionFirst} where no person is there: the device becomes a machine on its own. */
export async function enrollAlone(
  { options, deps, secrets, enrollment }: ProvisionParts & {
    readonly enrollment: EnrollmentSettings;
  },
  signal: AbortSignal,
): Promise<void> {
  const { clock, service, log } = deps;
  const done = linkedController(signal);
  let waitsFor = "";
  const waiting = (reason: string) => void (waitsFor = reason);
  service.ready();
  const workers: Worker[] = [
    {
      name: "enrollment",
      run: async (stop) => {
        await enrollFirst({ options, deps, secrets, settings: enrollment, waiting }, stop);
        done.abort();
      },
    },
    {
      name: "status file",
      run: (stop) =>
        keepProvisioningStatus(
          { options, deps, report: undefined, waitingFor: () => waitsFor },
          stop,
        ),
    },
    {
      name: "watchdog",
      run: (stop) => tendWatchdog({ manager: service, stuck: () => undefined, clock, log }, stop),
    },
  ];
  await runWorkers(workers, { signal: done.signal, clock, log });
}

/** Whether provisioning is worth a try; nothing is made or changed for that. */
export function mayProvision({ networks }: AgentDeps, defaults: DefaultsFile): boolean {
  if (typeof networks === "string" || !networks.hasBus()) return false;
  const { content } = defaults;
  const advanced = typeof content === "object" && content !== null && !Array.isArray(content)
    ? content["advanced_settings"]
    : undefined;
  const isOff = typeof advanced === "object" && advanced !== null && !Array.isArray(advanced) &&
    advanced["disable_network_configuration"] === true;
  return !isOff;
}

async function untilManager(
  { networks, clock }: AgentDeps,
  missing: CredentialsError,
  signal: AbortSignal,
): Promise<void> {
  if (typeof networks === "string") throw missing;
  const { NetworkManager } = await import("../networks/manager/network_manager.ts");
  const endMs = clock.monotonicMs() + MANAGER_MS;
  while (true) {
    try {
      const bus = await networks.openBus();
      try {
        await NetworkManager.open(bus);
        return;
      } finally {
        bus.close();
      }
    } catch (error) {
      if (clock.monotonicMs() >= endMs) {
        const reason = toError(error).message;
        throw new CredentialsError(
          missing.code,
          `${missing.message}; nor can it be given over a hotspot: ${reason}`,
          error,
        );
      }
    }
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

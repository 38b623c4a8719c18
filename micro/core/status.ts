import type { Messages } from "../../shared/gen/micro/messages.ts";
import type { Host } from "./host/host.ts";
import type { Input } from "./proto/codec.ts";
import { toResourceName } from "./resources/apis.ts";
import type { ResourceGraph } from "./resources/graph.ts";

const READY = 3;
const UNHEALTHY = 5;
const INITIALIZING = 1;
const RUNNING = 2;

/** What is known of the configuration that is in effect. */
export interface AppliedConfig {
  readonly revision: string;
  /** Of the device's start; undefined: none was applied yet. Milliseconds. */
  readonly at: number | undefined;
}

/** How the machine is, as calls and the cloud get it. */
export function machineStatus(
  host: Pick<Host, "now" | "wallClock">,
  graph: ResourceGraph,
  { revision, at }: AppliedConfig,
): Input<Messages["viam.robot.v1.GetMachineStatusResponse"]> {
  return {
    state: at === undefined ? INITIALIZING : RUNNING,
    config: { revision, lastUpdated: wallTime(host, at ?? host.now()) || undefined },
    resources: graph.states.map(({ config, error, revision, updatedAt }) => ({
      name: toResourceName(config.api, config.name),
      state: error === "" ? READY : UNHEALTHY,
      lastUpdated: wallTime(host, updatedAt) || undefined,
      revision,
      error,
    })),
  };
}

/** A clock that is before this was not set yet, or lost its time. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);

/** Unix time. Milliseconds; 0 as long as nobody knows. */
export function wallNow(host: Pick<Host, "wallClock">): number {
  const wall = host.wallClock();
  return wall < EARLIEST_MS ? 0 : wall;
}

/** The same of a moment of the device's clock. */
export function wallTime(host: Pick<Host, "now" | "wallClock">, at: number): number {
  const wall = wallNow(host);
  return wall === 0 ? 0 : wall - (host.now() - at);
}

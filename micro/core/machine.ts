import type { Json, Messages } from "../../shared/gen/micro/messages.ts";
import { sameBytes } from "./bytes/bytes.ts";
import type { MachineConfig } from "./machine_config.ts";
import { readConfig } from "./machine_config.ts";
import type { Host } from "./host/host.ts";
import { LogQueue } from "./log/log_queue.ts";
import { decode, encode, type Input } from "./proto/codec.ts";
import { methodOf } from "./resources/apis.ts";
import { ResourceGraph } from "./resources/graph.ts";
import type { Model } from "./resources/models.ts";
import { textOf } from "./rpc/errors.ts";
import { type AppliedConfig, machineStatus } from "./status.ts";

const CONFIG_KEY = "config";
const READ_BY_GET_READINGS = /^rdk:component:(sensor|movement_sensor|power_sensor)$/;

/** The resources of the device, by the configuration that is in effect. */
export class Machine {
  readonly log: LogQueue;
  readonly graph: ResourceGraph;
  #applied: AppliedConfig = { revision: "", at: undefined };
  #config: MachineConfig | undefined;
  readonly #listeners: ((config: MachineConfig) => void)[] = [];

  constructor(private readonly host: Host, models: readonly Model[]) {
    this.log = new LogQueue(host);
    this.graph = new ResourceGraph(host, models, this.log);
  }

  get config(): MachineConfig | undefined {
    return this.#config;
  }

  /** Called after each configuration that was applied. */
  onApplied(listener: (config: MachineConfig) => void): void {
    this.#listeners.push(listener);
  }

  /** Applies what flash has, so that the device works before it reaches its cloud. */
  restore(): void {
    const kept = this.host.flash.read(CONFIG_KEY);
    if (!kept) return;
    try {
      this.#apply(decode("viam.app.v1.RobotConfig", kept));
    } catch (error) {
      this.log.write("error", "config", `what was kept cannot be used: ${textOf(error)}`);
    }
  }

  /** Applies a configuration of the cloud and keeps it. @throws Error where it cannot be used */
  apply(config: Messages["viam.app.v1.RobotConfig"]): void {
    const bytes = encode("viam.app.v1.RobotConfig", config);
    const { largestValue } = this.host.flash;
    if (bytes.length > largestValue) {
      throw new Error(
        `it has ${bytes.length} bytes, larger than the ${largestValue} that the device can keep`,
      );
    }
    this.#apply(config);
    const kept = this.host.flash.read(CONFIG_KEY);
    // Flash wears out by writing.
    if (!kept || !sameBytes(kept, bytes)) this.host.flash.write(CONFIG_KEY, bytes);
  }

  #apply(message: Messages["viam.app.v1.RobotConfig"]): void {
    const config = readConfig(message);
    for (const warning of config.warnings) this.log.write("warn", "config", warning);
    this.graph.apply(config.resources, config.revision);
    this.#config = config;
    this.#applied = { revision: config.revision, at: this.host.now() };
    this.log.write("info", "config", `applied revision ${config.revision}`);
    for (const listener of this.#listeners) listener(config);
  }

  status(): Input<Messages["viam.robot.v1.GetMachineStatusResponse"]> {
    return machineStatus(this.host, this.graph, this.#applied);
  }

  /** The readings of all sensors, as the console shows them. */
  async readings(): Promise<Input<Messages["machine.cloud.v1.ResourceReadings"]>[]> {
    const sensors = this.graph.states.filter(({ config }) => READ_BY_GET_READINGS.test(config.api));
    return await Promise.all(sensors.map(async ({ config: { name }, resource, error }) => {
      try {
        const read = resource && methodOf(resource, "GetReadings");
        if (!read) return { name, error: error || "it has no readings" };
        const answer = await read({ name }) as { readings?: { [key: string]: Json } };
        return { name, readings: answer.readings ?? {} };
      } catch (failure) {
        return { name, error: textOf(failure) };
      }
    }));
  }
}

/** Whole machines of one process over real sockets, for tests of remotes. */
import { createClient } from "@connectrpc/connect";
import { join } from "node:path";
import { ResourceStatus_State, RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { MachineSeat } from "../../data/machine_seat.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { readEnvironment } from "../options/environment.ts";
import { MachineServer } from "./machine_server.ts";

const DEADLINE = { deadlineMs: 60_000, everyMs: 20 };

export interface TestMachineOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** `-webrtc`. Default false. */
  readonly webrtc?: boolean;
}

/** A machine whose configuration is a file in a folder of its own. */
export class TestMachine implements AsyncDisposable {
  readonly log = memoryLogger("rdk");

  private constructor(
    private readonly folder: string,
    private readonly server: MachineServer,
    readonly transport: ReturnType<typeof createGrpcTransport>,
  ) {}

  static async start(
    config: Record<string, unknown>,
    { port = 0, webrtc = false }: TestMachineOptions = {},
  ): Promise<TestMachine> {
    const folder = await Deno.makeTempDir({ prefix: "machine-remotes-" });
    const configPath = join(folder, "config.json");
    await writeConfig(configPath, config, port);
    const home = join(folder, "home");
    const seat = new MachineSeat();
    const log = memoryLogger("rdk");
    const server = await MachineServer.start({
      configPath,
      environment: readEnvironment((name) => name === "MACHINE_HOME" ? home : undefined),
      readVariable: () => undefined,
      registry: builtinModels(testEnvironment({ seat, home })),
      seat,
      clock: systemClock,
      log,
      logSettings: {
        setDebugMode: () => {},
        setPatterns: () => [],
        setResourceLevels: () => {},
        setDeduplication: () => {},
        setSecrets: () => {},
        forward: () => {},
        addSink: () => () => {},
      },
      build: { version: "1.2.3", commit: "test" },
      switches: {
        ...{ debug: false, noTls: false, allowInsecure: false, revealDiffs: false },
        ...{ untrusted: false, mdns: false, webrtc },
      },
      processes: systemProcesses(),
      variables: () => ({}),
    });
    const baseUrl = `http://127.0.0.1:${server.address!.port}`;
    const machine = new TestMachine(folder, server, createGrpcTransport({ baseUrl }));
    Object.defineProperty(machine, "log", { value: log });
    return machine;
  }

  get port(): number {
    return this.server.address!.port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get robot() {
    return createClient(RobotService, this.transport);
  }

  /** Takes another configuration, on the same port. */
  async configure(config: Record<string, unknown>): Promise<void> {
    await writeConfig(join(this.folder, "config.json"), config, this.port);
  }

  /** Names of the resources that are ready, sorted. */
  async names(): Promise<string[]> {
    return (await this.robot.resourceNames({})).resources.map(({ name }) => name).sort();
  }

  /** Short name → `ready`, or why it is not. Remotes are named `remote NAME`. */
  async status(): Promise<Record<string, string>> {
    const { resources } = await this.robot.getMachineStatus({});
    return Object.fromEntries(resources.map(({ name, state, error }) => [
      name?.subtype === "" ? `remote ${name.name}` : name?.name ?? "",
      error || ResourceStatus_State[state]!.toLowerCase(),
    ]));
  }

  /** Waits until the status of a resource is like that. */
  async until(name: string, like: RegExp): Promise<string> {
    let seen = "";
    const look = async () => like.test(seen = (await this.status())[name] ?? "missing");
    try {
      await waitFor(look, { ...DEADLINE, what: `${name}: ${like}` });
    } catch (error) {
      throw new Error(`${name} is ${JSON.stringify(seen)}\n${this.log.text()}`, { cause: error });
    }
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.transport.close();
    await this.server.close();
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function writeConfig(path: string, config: Record<string, unknown>, port: number) {
  const network = { bind_address: `127.0.0.1:${port}`, ...config["network"] as object };
  await Deno.writeTextFile(path, JSON.stringify({ ...config, network }));
}

/** A fake component with these attributes. */
export function fake(subtype: string, name: string, attributes: object = {}, more: object = {}) {
  return {
    ...{ name, api: `rdk:component:${subtype}`, model: "rdk:builtin:fake", attributes },
    ...more,
  };
}

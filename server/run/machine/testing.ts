/** Servers of machines in this process. */
import { createClient, type Transport } from "@connectrpc/connect";
import { join } from "node:path";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import type { LogSink } from "../../../shared/log/line.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { MachineSeat } from "../../data/machine_seat.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { readEnvironment } from "../options/environment.ts";
import { MachineServer } from "./machine_server.ts";

/** A machine in a folder of its own. */
export class Machine implements AsyncDisposable {
  readonly log = memoryLogger("rdk");
  server: MachineServer | undefined;
  readonly #transports: { close(): void }[] = [];

  private constructor(readonly folder: string) {}

  static async create(): Promise<Machine> {
    return new Machine(await Deno.makeTempDir({ prefix: "machine-server-" }));
  }

  get configPath(): string {
    return join(this.folder, "config.json");
  }

  writeConfig(json: unknown): Promise<void> {
    return Deno.writeTextFile(this.configPath, JSON.stringify(json));
  }

  async start(): Promise<void> {
    const home = join(this.folder, "home");
    const sinks = new Set<LogSink>();
    const seat = new MachineSeat();
    this.server = await MachineServer.start({
      configPath: this.configPath,
      environment: readEnvironment((name) => name === "MACHINE_HOME" ? home : undefined),
      readVariable: () => undefined,
      registry: builtinModels(testEnvironment({ seat, home })),
      seat,
      clock: systemClock,
      log: this.log,
      logSettings: {
        setDebugMode: () => {},
        setPatterns: () => [],
        setResourceLevels: () => {},
        setDeduplication: () => {},
        setSecrets: () => {},
        forward: () => {},
        addSink: (sink) => {
          sinks.add(sink);
          return () => void sinks.delete(sink);
        },
      },
      build: { version: "1.2.3", commit: "test" },
      switches: {
        debug: false,
        noTls: false,
        allowInsecure: false,
        revealDiffs: false,
        untrusted: false,
        mdns: false,
        webrtc: true,
      },
      processes: systemProcesses(),
      variables: () => Deno.env.toObject(),
    });
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    await server?.close();
  }

  get url(): string {
    return `http://127.0.0.1:${this.server!.address!.port}`;
  }

  transport(token?: string): Transport {
    const transport = createGrpcTransport({
      baseUrl: this.url,
      interceptors: token === undefined ? [] : [(next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      }],
    });
    this.#transports.push(transport);
    return transport;
  }

  async signIn(type: string, entity: string, payload: string): Promise<Transport> {
    const { accessToken } = await createClient(AuthService, this.transport()).authenticate({
      entity,
      credentials: { type, payload },
    });
    return this.transport(accessToken);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) transport.close();
    await this.stop();
    await Deno.remove(this.folder, { recursive: true });
  }
}

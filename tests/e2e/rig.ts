import assert from "node:assert/strict";

import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { systemClock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { type SignedIn, signIn } from "../../tools/run/cloud_api.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import { programPath } from "../../tools/run/options.ts";
import { waitForPort } from "../../tools/run/ports.ts";
import { bundlePrograms } from "../../tools/test/bundle_programs.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { descendants } from "./process_tree.ts";
import { Program, type ProgramOptions } from "./program.ts";
import { runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Line that the server writes when it serves; the address is the first group. */
export const READY_LINE = /serving\s+\{"url":"(https?:\/\/[^"]+)"/;

/** How long a condition may take to come true before a test fails. */
const DEADLINE_MS = 90_000;
/** Of a whole test, for a wait in it that has no deadline of its own. */
const TEST_LIMIT_MS = 1_800_000;

/**
 * One cloud and one machine as processes, on free ports, in a folder that is removed afterwards.
 * Nothing is started until a test requests it.
 */
export class Rig implements AsyncDisposable {
  readonly programs: Program[] = [];
  /** Checkout whose programs are started from now on; left out: those that are tested. */
  otherSources: string | undefined;
  #bootstrapped: Bootstrapped | undefined;
  #cloudSession: SignedIn | undefined;
  #serverSession: SignedIn | undefined;

  private constructor(
    readonly dir: string,
    readonly cloudPort: number,
    readonly serverPort: number,
  ) {}

  static async create(): Promise<Rig> {
    if (binaries().binaries === undefined) await bundlePrograms();
    const dir = await Deno.makeTempDir({ prefix: "machine-e2e-" });
    return new Rig(dir, freePort(), freePort());
  }

  get cloudUrl(): string {
    return `http://127.0.0.1:${this.cloudPort}`;
  }

  get serverUrl(): string {
    return `http://127.0.0.1:${this.serverPort}`;
  }

  get credentialsFile(): string {
    return join(this.dir, "machine.json");
  }

  get serverHome(): string {
    return join(this.dir, "server");
  }

  /** What bootstrap printed. */
  get bootstrapped(): Bootstrapped {
    assert.ok(this.#bootstrapped, "call bootstrap() first");
    return this.#bootstrapped;
  }

  get partId(): string {
    return this.bootstrapped.part_id;
  }

  /** A host sensor and a fake one; the server on this rig's port. */
  defaultConfig(): JsonObject {
    const server = pathToFileURL(this.#program("machine-server")).href;
    return {
      components: [
        { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
        { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
      ],
      network: { bind_address: `127.0.0.1:${this.serverPort}` },
      agent: { version_control: { "machine-server": server } },
    };
  }

  /**
   * Makes organisation, location and machine.
   * @param cloudUrl where the machine finds the cloud; a proxy, when a test cuts the network
   */
  async bootstrap(
    config: JsonObject = this.defaultConfig(),
    cloudUrl = this.cloudUrl,
  ): Promise<Bootstrapped> {
    const file = join(this.dir, "config.json");
    await Deno.writeTextFile(file, JSON.stringify(config));
    const run = await this.run("machine-cloud", [
      "bootstrap",
      ...["--data", join(this.dir, "cloud"), "--org", "Test", "--location", "Lab"],
      ...["--machine", "bench", "--config", file],
      ...["--public-url", cloudUrl, "--credentials-out", this.credentialsFile],
    ]);
    assert.equal(run.code, 0, run.stderr);
    this.#bootstrapped = JSON.parse(run.stdout) as Bootstrapped;
    return this.#bootstrapped;
  }

  /** Runs a program to its end. */
  async run(
    name: "machine" | "machine-cloud" | "machine-agent" | "machine-server",
    args: string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await runToEnd(this.#program(name), {
      args,
      env: { ...this.#env, ...env },
      limitMs: DEADLINE_MS,
    });
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: decode(stdout), stderr: decode(stderr) };
  }

  /** Starts the cloud and waits until it accepts connections. */
  async startCloud(args: string[] = [], env: Record<string, string> = {}): Promise<Program> {
    if (this.#bootstrapped === undefined) await this.bootstrap();
    const cloud = this.spawn("machine-cloud", [
      "serve",
      ...["--listen", `127.0.0.1:${this.cloudPort}`, "--data", join(this.dir, "cloud")],
      ...["--public-url", this.cloudUrl, ...args],
    ], env);
    await waitForPort("127.0.0.1", this.cloudPort, cloud);
    return cloud;
  }

  /** Starts a server without an agent and waits until it serves. */
  async startServer(
    args: string[] = [],
    env: Record<string, string> = {},
    configFile = this.credentialsFile,
  ): Promise<Program> {
    const server = this.spawn("machine-server", ["-config", configFile, ...args], env);
    await server.waitForLine(READY_LINE, DEADLINE_MS);
    return server;
  }

  /** Starts an agent, which starts the server, and waits until the server serves. */
  async startAgent(args: string[] = []): Promise<Program> {
    const agent = this.spawn("machine-agent", [
      ...["-c", this.credentialsFile, "--dev-mode", "--dir", join(this.dir, "agent"), ...args],
    ]);
    await agent.waitForLine(READY_LINE, DEADLINE_MS);
    return agent;
  }

  /** Starts a program that is stopped with the rig. */
  spawn(
    name: "machine" | "machine-cloud" | "machine-agent" | "machine-server",
    args: string[],
    env: Record<string, string> = {},
  ): Program {
    const options: ProgramOptions = {
      name,
      command: this.#program(name),
      args,
      env: { ...this.#env, ...env },
    };
    const program = Program.start(options);
    this.programs.push(program);
    return program;
  }

  /** Process ids of the machine servers below an agent. */
  async serversOf(agent: Program): Promise<number[]> {
    const found: number[] = [];
    for (const pid of await descendants(agent.pid)) {
      const command = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
      if (/machine-server|server\/main\.ts/.test(command)) found.push(pid);
    }
    return found;
  }

  /** Clients of the cloud, signed in with the bootstrap key. */
  async cloud(): Promise<SignedIn> {
    this.#cloudSession ??= await signIn(this.cloudUrl, this.#apiKey);
    return this.#cloudSession;
  }

  /** Clients of the machine's own server, signed in with the bootstrap key. */
  async server(): Promise<SignedIn> {
    this.#serverSession ??= await signIn(this.serverUrl, this.#apiKey);
    return this.#serverSession;
  }

  /** Forgets the sign-in at the server; after its restart. */
  forgetServerSession(): void {
    this.#serverSession = undefined;
  }

  /** The part's configuration in the cloud. */
  async config(): Promise<JsonObject> {
    const { part } = await (await this.cloud()).client(AppService).getRobotPart({
      id: this.partId,
    });
    return part?.robotConfig ?? {};
  }

  /** Saves a configuration in the cloud. */
  async saveConfig(config: JsonObject): Promise<void> {
    await (await this.cloud()).client(AppService).updateRobotPart({
      id: this.partId,
      name: "bench-main",
      robotConfig: config,
    });
  }

  /** Saves the default configuration with other readings of the fake sensor. */
  async saveFakeReadings(readings: JsonObject): Promise<void> {
    await this.saveConfig(this.withFakeReadings(readings));
  }

  /** The default configuration with other readings of the fake sensor. */
  withFakeReadings(readings: JsonObject): JsonObject {
    const config = this.defaultConfig();
    return {
      ...config,
      components: [
        { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
        {
          name: "fake",
          api: "rdk:component:sensor",
          model: "rdk:builtin:fake",
          attributes: { readings },
        },
      ],
    };
  }

  /** Readings of a sensor, asked from the machine's server. */
  async readings(name: string): Promise<Record<string, unknown>> {
    const sensors = (await this.server()).client(SensorService);
    const { readings } = await sensors.getReadings({ name });
    return Object.fromEntries(
      Object.entries(readings).map(([key, value]) => [key, plain(value.kind)]),
    );
  }

  /** What the machine's server reports about itself. */
  async machineStatus() {
    return await (await this.server()).client(RobotService).getMachineStatus({});
  }

  /** What the console would show. */
  async liveStatus() {
    return await (await this.cloud()).client(ConsoleService).getPartLiveStatus({
      partId: this.partId,
    });
  }

  /** Messages of the part's newest log lines that hold a text. */
  async logs(filter: string): Promise<string[]> {
    const app = (await this.cloud()).client(AppService);
    const { logs } = await app.getRobotPartLogs({ id: this.partId, filter });
    return logs.map((entry) => entry.message);
  }

  /** What every program wrote last. */
  outputs(): string {
    return this.programs.map((program) =>
      `--- ${program.name} (${program.exit?.reason ?? "running"})\n${program.tail(60)}`
    ).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.programs.splice(0).reverse()) await program.stop(5_000);
    await Deno.remove(this.dir, { recursive: true });
  }

  get #apiKey() {
    return { id: this.bootstrapped.api_key_id, key: this.bootstrapped.api_key };
  }

  #program(name: Parameters<typeof programPath>[0]): string {
    return this.otherSources === undefined
      ? programPath(name, binaries(), ROOT)
      : programPath(name, { binaries: undefined }, this.otherSources);
  }

  get #env(): Record<string, string> {
    return { MACHINE_HOME: this.serverHome };
  }
}

/** Registers a test with a rig of its own; when it fails, what the programs wrote is shown. */
export function rigTest(
  name: string,
  body: (rig: Rig) => Promise<void>,
  options: { ignore?: boolean } = {},
): void {
  Deno.test({
    name,
    ignore: options.ignore ?? false,
    async fn() {
      const rig = await Rig.create();
      try {
        await withDeadline(() => body(rig), {
          ...{ clock: systemClock, deadlineMs: TEST_LIMIT_MS, what: "the test" },
        });
      } catch (error) {
        process.stderr.write(`${rig.outputs()}\n`);
        throw error;
      } finally {
        await rig[Symbol.asyncDispose]();
      }
    },
  });
}

/**
 * Asks again until the answer is not undefined or false.
 * @throws Error with the last answer or failure after the deadline
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  let last: unknown;
  while (Date.now() < end) {
    try {
      const found = await withDeadline(() => probe(), {
        ...{ clock: systemClock, deadlineMs: end - Date.now(), what: "the last look" },
      });
      if (found !== undefined && found !== false) return found;
      last = found;
    } catch (error) {
      last = error;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`not within ${deadlineMs} ms: ${what}; last: ${last}`, { cause: last });
}

function binaries(): { binaries: string | undefined } {
  return { binaries: Deno.env.get("MACHINE_TEST_BINARIES") };
}

interface ValueKind {
  case?: string | undefined;
  value?: unknown;
}

function plain(kind: ValueKind): unknown {
  return kind.case === "nullValue" ? null : kind.value;
}

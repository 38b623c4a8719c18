import type { JsonObject } from "@bufbuild/protobuf";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { isUnreachable, type SignedIn, signIn } from "./cloud_api.ts";
import { type DemoPlaces, preparedConfig } from "./demo_config.ts";
import { prepareModule, withModule } from "./demo_module.ts";
import { programPath, type RunOptions } from "./options.ts";
import { assertPortFree, waitForPort } from "./ports.ts";
import type { ProcessRunner } from "../../shared/base/process/child_process.ts";
import { DataFolder } from "./data_folder.ts";
import { Part, type PartEndedError } from "./parts.ts";
import { Sightings } from "./sightings.ts";

/** What `machine-cloud bootstrap` prints. */
export interface Bootstrapped {
  org_id: string;
  location_id: string;
  machine_id: string;
  part_id: string;
  part_secret: string;
  api_key_id: string;
  api_key: string;
  fqdn: string;
  cloud_address: string;
  owner_sign_in_url: string;
}

/** Who owns the demo organisation; the host has no mail, so nobody writes there. */
export const OWNER = "owner@localhost";

/** How long the machine may take to come online; the first start of a clone fills caches. */
const ONLINE_DEADLINE_MS = 120_000;
const POLL_MS = 200;
/** The agent gives its server some time to end. */
const STOP_GRACE_MS = 15_000;

/** A cloud, and a machine with its agent and server, on this host. */
export class Demo {
  readonly cloudUrl: string;
  readonly serverUrl: string;
  readonly #options: RunOptions;
  readonly #root: string;
  readonly #runner: ProcessRunner;
  /** What is to be stopped. */
  readonly #parts: Part[] = [];
  /** All that were started. */
  readonly #started: Part[] = [];
  #folder: DataFolder | undefined;
  #sightings: Sightings | undefined;
  #ending = false;
  /** The machine was made by this run. */
  #isNew = false;
  readonly #stop = new AbortController();

  /** @param root the repository */
  constructor(options: RunOptions, root: string, runner: ProcessRunner) {
    this.#options = options;
    this.#root = root;
    this.#runner = runner;
    this.cloudUrl = `http://127.0.0.1:${options.port}`;
    this.serverUrl = `http://127.0.0.1:${options.port + 1}`;
  }

  /**
   * Starts everything; on failure ends what was started.
   * @param report gets one line for each step
   */
  async start(report: (line: string) => void): Promise<Bootstrapped> {
    const { port, dataDir } = this.#options;
    this.#folder = await DataFolder.take(dataDir, this.#runner);
    await assertPortFree("127.0.0.1", port, "the cloud");
    await assertPortFree("127.0.0.1", port + 1, "the machine's server");
    for (const name of ["machine-cloud", "machine-agent", "machine-server"] as const) {
      await this.#assertProgram(name);
    }
    report(
      await exists(join(dataDir, "cloud", "cloud.db"))
        ? `Going on with the demo machine in ${dataDir} …`
        : `Making a demo machine in ${dataDir} …`,
    );
    const bootstrapped = await this.#bootstrap();
    this.#sightings = new Sightings(report);
    report(`Starting the cloud on ${this.cloudUrl} …`);
    const cloud = await this.#start("machine-cloud", [
      "serve",
      ...["--listen", `127.0.0.1:${port}`],
      ...["--data", join(dataDir, "cloud")],
      ...["--public-url", this.cloudUrl],
      "--allow-private-webhooks",
    ]);
    await waitForPort("127.0.0.1", port, cloud);
    await this.#prepareConfig(bootstrapped);
    report(`Starting the agent, which starts the server on ${this.serverUrl} …`);
    await this.#start("machine-agent", [
      ...["-c", this.#credentialsFile],
      "--dev-mode",
      ...["--dir", join(dataDir, "agent")],
    ]);
    return bootstrapped;
  }

  /**
   * Waits until a reading of the host sensor has arrived at the cloud and returns it.
   * @throws PartEndedError when a part ends before, Error after two minutes
   */
  async waitForReading(bootstrapped: Bootstrapped): Promise<JsonObject> {
    const session = await this.#signIn(bootstrapped);
    const deadline = Date.now() + ONLINE_DEADLINE_MS;
    while (Date.now() < deadline) {
      const readings = await this.#readingAtCloud(session, bootstrapped.part_id);
      if (readings !== undefined) return readings;
      await Promise.race([
        new Promise((done) => setTimeout(done, POLL_MS)),
        this.#throwWhenPartEnds(),
      ]);
    }
    const tails = this.#parts.map((part) => `${part.name}:\n${part.tail()}`);
    throw new Error(
      `No reading of the machine arrived at the cloud within ${ONLINE_DEADLINE_MS / 1000} s. ` +
        `Last lines of each part:\n${tails.join("\n")}`,
    );
  }

  /**
   * Gives a machine that is new a module, which may have to be installed first.
   * @param report gets one line when it cannot
   */
  async addModule(bootstrapped: Bootstrapped, report: (line: string) => void): Promise<void> {
    if (!this.#isNew) return;
    try {
      const program = await prepareModule(this.#options.dataDir, this.#stop.signal);
      const app = (await this.#signIn(bootstrapped)).client(AppService);
      const { part } = await app.getRobotPart({ id: bootstrapped.part_id });
      if (!part || this.#ending) return;
      const robotConfig = withModule(part.robotConfig ?? {}, program);
      await app.updateRobotPart({ id: part.id, name: part.name, robotConfig });
    } catch (error) {
      if (!this.#ending) report(`The demo goes without its module: ${(error as Error).message}`);
    }
  }

  /** Waits for one of the parts to end on its own. */
  async partEnded(): Promise<PartEndedError> {
    return await Promise.race(
      this.#parts.map((part) => part.exited.then(() => part.endedError())),
    );
  }

  /** The cloud's data folder. */
  get cloudDir(): string {
    return join(this.#options.dataDir, "cloud");
  }

  /** Where each part's output is. */
  get logDir(): string {
    return join(this.#options.dataDir, "log");
  }

  /** Ends agent and server, then the cloud. */
  async stop(): Promise<void> {
    this.#ending = true;
    this.#stop.abort();
    for (const part of this.#parts.splice(0).reverse()) await part.stop(STOP_GRACE_MS);
    await this.#sightings?.close();
    this.#sightings = undefined;
    this.#folder?.release();
    this.#folder = undefined;
  }

  /** Ends everything at once. */
  async kill(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#started.map((part) => part.kill()));
  }

  get #credentialsFile(): string {
    return join(this.#options.dataDir, "machine.json");
  }

  get #places(): DemoPlaces {
    return {
      bindAddress: `127.0.0.1:${this.#options.port + 1}`,
      serverUrl: pathToFileURL(programPath("machine-server", this.#options, this.#root)).href,
      webhookUrl: this.#sightings!.url,
    };
  }

  async #bootstrap(): Promise<Bootstrapped> {
    const { success, stdout, stderr } = await new Deno.Command(
      programPath("machine-cloud", this.#options, this.#root),
      {
        args: [
          "bootstrap",
          ...["--data", join(this.#options.dataDir, "cloud")],
          ...["--org", "Demo", "--location", "Here", "--machine", "demo"],
          ...["--public-url", this.cloudUrl],
          ...["--owner", OWNER],
          ...["--credentials-out", this.#credentialsFile],
        ],
        env: this.#env,
        stdin: "null",
      },
    ).output();
    const text = new TextDecoder().decode(stdout);
    if (!success) {
      throw new Error(`The demo machine could not be made: ${new TextDecoder().decode(stderr)}`);
    }
    return JSON.parse(text) as Bootstrapped;
  }

  async #prepareConfig(bootstrapped: Bootstrapped): Promise<void> {
    const app = (await this.#signIn(bootstrapped)).client(AppService);
    const { part } = await app.getRobotPart({ id: bootstrapped.part_id });
    if (part === undefined) throw new Error("The cloud does not know the demo machine's part.");
    const config = preparedConfig(part.robotConfig ?? {}, this.#places);
    this.#isNew = Object.keys(part.robotConfig ?? {}).length === 0;
    if (config === undefined) return;
    await app.updateRobotPart({ id: part.id, name: part.name, robotConfig: config });
  }

  async #readingAtCloud(session: SignedIn, partId: string): Promise<JsonObject | undefined> {
    try {
      const status = await session.client(ConsoleService).getPartLiveStatus({ partId });
      if (!status.online) return undefined;
      const host = status.readings.find((entry) => entry.name === "host")?.readings;
      return host !== undefined && Object.keys(host).length > 0 ? host : undefined;
    } catch (error) {
      if (isUnreachable(error)) return undefined;
      throw error;
    }
  }

  #signIn({ api_key_id: id, api_key: key }: Bootstrapped): Promise<SignedIn> {
    return signIn(this.cloudUrl, { id, key });
  }

  async #throwWhenPartEnds(): Promise<never> {
    throw await this.partEnded();
  }

  async #start(name: "machine-cloud" | "machine-agent", args: string[]): Promise<Part> {
    if (this.#ending) throw new Error("It was stopped on request.");
    const log = Deno.openSync(join(this.logDir, `${name}.log`), {
      create: true,
      write: true,
      truncate: true,
      mode: 0o600,
    });
    const encoder = new TextEncoder();
    const part = new Part({
      name,
      program: programPath(name, this.#options, this.#root),
      args,
      env: this.#env,
      onLine: (line) => log.writeSync(encoder.encode(`${line}\n`)),
    }, this.#runner);
    part.exited.then(() => log.close());
    this.#parts.push(part);
    this.#started.push(part);
    await this.#folder?.remember(this.#started.map(({ mark }) => mark));
    return part;
  }

  get #env(): Record<string, string> {
    return {
      ...Deno.env.toObject(),
      MACHINE_HOME: join(this.#options.dataDir, "server"),
    };
  }

  async #assertProgram(name: "machine-cloud" | "machine-agent" | "machine-server"): Promise<void> {
    const path = programPath(name, this.#options, this.#root);
    try {
      await stat(path);
    } catch {
      const target = name.replace("machine-", "");
      const advice = this.#options.binaries === undefined
        ? "Is the clone complete?"
        : `Build it with make ${target}.`;
      throw new Error(`${path} is missing. ${advice}`);
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false);
}

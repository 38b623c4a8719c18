/** Two nodes of one cloud, killed and stopped at random while programs and a machine use them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { TestReceiver } from "../../cloud/triggers/delivery/receiver_testing.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import { programPath } from "../../tools/run/options.ts";
import { Program } from "../e2e/program.ts";
import { S3Server } from "../object_storage/s3_server.ts";
import { freePort } from "../ports/free_port.ts";
import { Balancer } from "./balancer.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
/** How often a node is killed or stopped: `KILLS=200` for a long run. */
const KILLS = Number(Deno.env.get("KILLS") ?? 2);
const DEADLINE = { deadlineMs: 180_000 };
const CALL_MS = 10_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM = programPath("machine-cloud", { binaries: undefined }, ROOT);

/** Two processes on one PostgreSQL and one object storage, behind a balancer. */
class Cluster implements AsyncDisposable {
  readonly #programs = new Map<number, Program>();
  readonly ports = [freePort(), freePort()] as const;
  balancer!: Balancer;
  made!: Bootstrapped;

  private constructor(
    readonly dir: string,
    readonly database: PostgresServer,
    readonly objects: S3Server,
  ) {}

  static async start(): Promise<Cluster> {
    const cluster = new Cluster(
      await Deno.makeTempDir({ prefix: "machine-cluster-" }),
      await PostgresServer.start(),
      await S3Server.start(),
    );
    cluster.balancer = await Balancer.start(cluster.ports);
    const run = await new Deno.Command(PROGRAM, {
      args: [
        ...["bootstrap", "--data", cluster.folder(0), "--org", "Test", "--location", "Lab"],
        ...["--machine", "bench", "--public-url", cluster.url],
      ],
      env: cluster.env,
    }).output();
    assert.ok(run.success, new TextDecoder().decode(run.stderr));
    cluster.made = JSON.parse(new TextDecoder().decode(run.stdout));
    await Deno.mkdir(cluster.folder(1), { mode: 0o700 });
    await Deno.copyFile(join(cluster.folder(0), "cloud.key"), join(cluster.folder(1), "cloud.key"));
    for (const node of [0, 1]) cluster.run(node);
    await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
    return cluster;
  }

  get url(): string {
    return `http://127.0.0.1:${this.balancer.port}`;
  }

  get env(): Record<string, string> {
    return { ...this.objects.env, MACHINE_CLOUD_DATABASE: this.database.address("pool=4") };
  }

  folder(node: number): string {
    return join(this.dir, `${node}`);
  }

  program(node: number): Program {
    const program = this.#programs.get(node);
    assert.ok(program);
    return program;
  }

  run(node: number): void {
    this.#programs.set(
      node,
      Program.start({
        name: `node ${node}`,
        command: PROGRAM,
        args: [
          ...["serve", "--cluster", "--listen", `127.0.0.1:${this.ports[node]}`],
          ...["--data", this.folder(node), "--public-url", this.url],
          ...["--blob-store", "s3://machines", "--training-jobs", "0"],
          "--allow-private-webhooks",
        ],
        env: this.env,
      }),
    );
  }

  /** One call as JSON. @throws when it was not acknowledged */
  async call(method: string, token: string | undefined, body: object): Promise<unknown> {
    const response = await fetch(`${this.url}/${method}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        connection: "close",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw new CallError(response.status, text);
  }

  /** Again and again until it is acknowledged, as machines do. */
  async insist(method: string, token: string | undefined, body: object): Promise<unknown> {
    for (;;) {
      try {
        return await this.call(method, token, body);
      } catch (error) {
        // What is wrong with the call itself stays wrong.
        if (error instanceof CallError && error.isFinal) throw error;
        await sleep(200);
      }
    }
  }

  async token(type: string, entity: string, payload: string): Promise<string> {
    const body = { entity, credentials: { type, payload } };
    const answer = await this.insist("proto.rpc.v1.AuthService/Authenticate", undefined, body);
    return (answer as { accessToken: string }).accessToken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.values()) program.signal("SIGCONT");
    await Promise.all([...this.#programs.values()].map((program) => program.stop(60_000)));
    await this.balancer[Symbol.asyncDispose]();
    await this.objects[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
    await Deno.remove(this.dir, { recursive: true });
  }
}

class CallError extends Error {
  constructor(readonly status: number, text: string) {
    super(`${status}: ${text}`);
  }

  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429 &&
      !/canceled|aborted|resource_exhausted/.test(this.message);
  }
}

/** What was acknowledged. */
class Load {
  readonly lines = new Set<string>();
  readonly readings = new Set<number>();
  saved = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly tokens: { readonly machine: string; readonly person: string },
    private readonly receiverUrl: string,
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#log(signal), this.#upload(signal), this.#save(signal)]);
  }

  get #partId(): string {
    return this.cluster.made.part_id;
  }

  async #log(signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n++) {
      const messages = [0, 1, 2].map((line) => `line ${n}.${line}`);
      const time = new Date().toISOString();
      await this.cluster.insist("viam.app.v1.RobotService/Log", this.tokens.machine, {
        id: this.#partId,
        logs: messages.map((message) => ({ message, time, level: "info", host: "h" })),
      });
      for (const message of messages) this.lines.add(message);
      await sleep(20);
    }
  }

  async #upload(signal: AbortSignal): Promise<void> {
    const metadata = {
      ...{ partId: this.#partId, componentType: "rdk:component:sensor", componentName: "climate" },
      ...{ methodName: "Readings", type: "DATA_TYPE_TABULAR_SENSOR" },
    };
    for (let n = 0; !signal.aborted; n++) {
      const time = new Date().toISOString();
      const body = {
        metadata,
        sensorContents: [{
          metadata: { timeRequested: time, timeReceived: time },
          struct: { readings: { n } },
        }],
      };
      const method = "viam.app.datasync.v1.DataSyncService/DataCaptureUpload";
      await this.cluster.insist(method, this.tokens.machine, body);
      this.readings.add(n);
      await sleep(20);
    }
  }

  async #save(signal: AbortSignal): Promise<void> {
    for (let n = 1; !signal.aborted; n++) {
      await this.save(n);
      await sleep(100);
    }
  }

  async save(n: number): Promise<void> {
    const notifications = [
      { type: "webhook", value: this.receiverUrl, seconds_between_notifications: 0 },
    ];
    const event = { type: "part_data_ingested", data_ingested: { data_types: ["tabular"] } };
    await this.cluster.insist("viam.app.v1.AppService/UpdateRobotPart", this.tokens.person, {
      id: this.#partId,
      name: "bench-main",
      robotConfig: { n, triggers: [{ name: "data", event, notifications }] },
    });
    this.saved = n;
  }
}

Deno.test({
  name: "two nodes that are killed and stopped at random lose nothing that was acknowledged",
  ignore,
  async fn() {
    await using receiver = TestReceiver.start();
    await using cluster = await Cluster.start();
    const { made } = cluster;
    const load = new Load(cluster, {
      machine: await cluster.token("robot-secret", made.part_id, made.part_secret),
      person: await cluster.token("api-key", made.api_key_id, made.api_key),
    }, receiver.origin);
    await load.save(0);
    const over = new AbortController();
    const loading = load.run(over.signal);
    for (let kill = 0; kill < KILLS; kill++) {
      const before = load.lines.size;
      await waitFor(() => load.lines.size > before + 30, DEADLINE);
      await disturb(cluster, Math.floor(Math.random() * 2), kill % 2 === 0 ? "kill" : "stop");
    }
    over.abort();
    await loading;
    const query = (sql: string) => cluster.database.query(`set search_path=machine_cloud; ${sql}`);
    const lines = (await query("select message from log_lines where message like 'line %'"))
      .split("\n");
    assert.deepEqual([...load.lines].filter((line) => !lines.includes(line)), [], "lines lost");
    assert.equal(new Set(lines).size, lines.length, "a line is there twice");
    const rows = (await query("select data from tabular_readings")).split("\n");
    const readings = rows.map((text) => JSON.parse(text).readings?.n as number);
    assert.deepEqual([...load.readings].filter((n) => !readings.includes(n)), [], "readings lost");
    assert.equal(new Set(readings).size, readings.length, "a reading is there twice");
    const part = await cluster.insist(
      "viam.app.v1.AppService/GetRobotPart",
      await cluster.token("api-key", made.api_key_id, made.api_key),
      { id: made.part_id },
    ) as { part: { robotConfig: { n: number } } };
    assert.equal(part.part.robotConfig.n, load.saved);
    await waitFor(
      async () => await query("select count(*) from deliveries where state = 'pending'") === "0",
      DEADLINE,
    );
    const delivered = Number(
      await query("select count(*) from deliveries where state='delivered'"),
    );
    const ids = new Set(receiver.requests.map(({ headers }) => headers.get("webhook-id")));
    assert.ok(delivered > 0);
    assert.ok(ids.size >= delivered, `${ids.size} of ${delivered} notifications arrived`);
  },
});

/** Kills a node and starts it again, or stops it for longer than others wait for it. */
async function disturb(cluster: Cluster, node: number, how: "kill" | "stop"): Promise<void> {
  const port = cluster.ports[node] ?? 0;
  const program = cluster.program(node);
  program.signal(how === "kill" ? "SIGKILL" : "SIGSTOP");
  await waitFor(() => !cluster.balancer.ready.has(port), DEADLINE);
  if (how === "stop") {
    await sleep(Math.random() * 12_000);
    program.signal("SIGCONT");
  } else {
    await program.exited;
    cluster.run(node);
  }
  await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
}

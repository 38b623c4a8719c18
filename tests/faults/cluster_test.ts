/** Two nodes of one cloud, killed and stopped at random while programs and a machine use them. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { TestReceiver } from "../../cloud/triggers/delivery/receiver_testing.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { Cluster, DEADLINE } from "./cluster.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
/** How often a node is killed or stopped: `KILLS=200` for a long run. */
const KILLS = Number(Deno.env.get("KILLS") ?? 2);

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
    await using cluster = await Cluster.start([
      ...["--training-jobs", "0", "--allow-private-webhooks"],
    ]);
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

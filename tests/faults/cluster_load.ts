import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { FakeReceiver } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { type Cluster, DEADLINE } from "./cluster.ts";

/** Programs and a machine that use a cluster, and what of it was acknowledged. */
export class Load {
  readonly lines = new Set<string>();
  readonly readings = new Set<number>();
  saved = 0;

  private constructor(
    private readonly cluster: Cluster,
    private readonly tokens: { readonly machine: string; readonly person: string },
    private readonly receiverUrl: string,
  ) {}

  /** Saves the first configuration, with a trigger that notifies the receiver of each reading. */
  static async on(cluster: Cluster, receiver: FakeReceiver): Promise<Load> {
    const { made } = cluster;
    const machine = await cluster.token("robot-secret", made.part_id, made.part_secret);
    const person = await cluster.token("api-key", made.api_key_id, made.api_key);
    const load = new Load(cluster, { machine, person }, receiver.origin);
    await load.#saveOnce(0);
    return load;
  }

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
      await this.#saveOnce(n);
      await sleep(100);
    }
  }

  /**
   * Whether all that was acknowledged is there, once, and everybody was notified.
   *
   * @returns how many notifications were delivered
   */
  async check(receiver: FakeReceiver): Promise<number> {
    const { cluster } = this;
    const query = (sql: string) => cluster.database.query(`set search_path=machine_cloud; ${sql}`);
    const lines = (await query("select message from log_lines where message like 'line %'"))
      .split("\n");
    assert.deepEqual([...this.lines].filter((line) => !lines.includes(line)), [], "lines lost");
    assert.equal(new Set(lines).size, lines.length, "a line is there twice");
    const rows = (await query("select data from tabular_readings")).split("\n");
    const readings = rows.map((text) => JSON.parse(text).readings?.n as number);
    assert.deepEqual([...this.readings].filter((n) => !readings.includes(n)), [], "readings lost");
    assert.equal(new Set(readings).size, readings.length, "a reading is there twice");
    const part = await cluster.insist(
      "viam.app.v1.AppService/GetRobotPart",
      this.tokens.person,
      { id: this.#partId },
    ) as { part: { robotConfig: { n: number } } };
    assert.equal(part.part.robotConfig.n, this.saved);
    const pending = "select count(*) from deliveries where state = 'pending'";
    await waitFor(async () => await query(pending) === "0", DEADLINE);
    const delivered = Number(
      await query("select count(*) from deliveries where state='delivered'"),
    );
    const ids = new Set(receiver.requests.map(({ headers }) => headers.get("webhook-id")));
    assert.ok(delivered > 0);
    assert.ok(ids.size >= delivered, `${ids.size} of ${delivered} notifications arrived`);
    return delivered;
  }

  async #saveOnce(n: number): Promise<void> {
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

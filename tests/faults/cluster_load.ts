import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";

/** Programs and a machine that use a cluster, and what of it was acknowledged. */
export class Load {
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

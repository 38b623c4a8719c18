import type { JsonObject, Messages } from "../../../shared/gen/micro/messages.ts";
import type { CloudClient } from "../cloud/cloud_client.ts";
import type { Capture, MachineConfig } from "../machine_config.ts";
import type { Host, TimerId } from "../host/host.ts";
import type { LogQueue } from "../log/log_queue.ts";
import type { Fields, Input } from "../proto/codec.ts";
import { methodTypes } from "../proto/fields.ts";
import { toJson } from "../proto/json.ts";
import { methodOf, SERVICES } from "../resources/apis.ts";
import type { ResourceGraph } from "../resources/graph.ts";
import { RpcError, textOf } from "../rpc/errors.ts";
import { wallNow, wallTime } from "../status.ts";

/** Captured readings that wait for the cloud, by the length of their JSON. */
const MOST_WAITING = 32 * 1024;
const MOST_A_CALL = 50;
const DEFAULT_SYNC_MINS = 0.1;
const TABULAR = 2;

type Metadata = Input<Messages["viam.app.datasync.v1.UploadMetadata"]>;

interface Sample {
  readonly from: number;
  readonly to: number;
  readonly struct: JsonObject;
  readonly size: number;
}

interface Running {
  readonly capture: Capture;
  readonly metadata: Metadata;
  readonly timer: { id: TimerId | undefined };
  samples: Sample[];
  busy: boolean;
  /** Said of it last; not again and again. */
  error: string;
}

export interface DataCaptureOptions {
  readonly host: Host;
  readonly graph: ResourceGraph;
  readonly log: LogQueue;
  readonly client: CloudClient | undefined;
}

/** Calls methods as often as the configuration says, and uploads the answers. */
export class DataCapture {
  #running: Running[] = [];
  #waiting = 0;
  #dropped = 0;
  #uploading = false;
  #syncTimer: TimerId | undefined;
  #syncMs = 0;

  constructor(private readonly options: DataCaptureOptions) {}

  /** Captures as the configuration says from now on; what waits is uploaded nevertheless. */
  apply({ captures, dataManager }: MachineConfig): void {
    this.#stop();
    const before = this.#running.filter(({ samples }) => samples.length > 0);
    this.#running = [];
    const wanted = dataManager && dataManager["capture_disabled"] !== true ? captures : [];
    const tags = dataManager?.["tags"];
    const common = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
    for (const capture of wanted) this.#start(capture, common);
    for (const { samples, metadata, capture } of before) {
      const same = this.#running.find((one) =>
        JSON.stringify(one.capture) === JSON.stringify(capture)
      );
      if (same) same.samples = samples;
      else this.#running.push(idle({ samples, metadata, capture }));
    }
    const minutes = dataManager?.["sync_interval_mins"];
    this.#syncMs = (typeof minutes === "number" && minutes > 0 ? minutes : DEFAULT_SYNC_MINS) *
      60_000;
    if (dataManager && dataManager["sync_disabled"] !== true) this.#scheduleSync();
  }

  close(): void {
    this.#stop();
    this.#running = [];
  }

  #stop(): void {
    const { host } = this.options;
    for (const { timer } of this.#running) if (timer.id !== undefined) host.clearTimer(timer.id);
    if (this.#syncTimer !== undefined) host.clearTimer(this.#syncTimer);
    this.#syncTimer = undefined;
  }

  #start(capture: Capture, common: readonly string[]): void {
    const { host, client } = this.options;
    const { resource, api, method, hz, tags } = capture;
    const metadata: Metadata = {
      partId: client?.credentials.partId,
      componentType: api,
      componentName: resource,
      methodName: method,
      type: TABULAR,
      tags: [...new Set([...common, ...tags])],
    };
    const running = idle({ samples: [], metadata, capture });
    this.#running.push(running);
    const due = () => {
      running.timer.id = host.setTimer(1000 / hz, due);
      if (!running.busy) this.#sample(running);
    };
    running.timer.id = host.setTimer(1000 / hz, due);
  }

  async #sample(running: Running): Promise<void> {
    const { host, graph, log } = this.options;
    const { resource: name, api, method } = running.capture;
    running.busy = true;
    try {
      const from = host.now();
      const struct = await read(graph, api, name, method);
      const sample = { from, to: host.now(), struct, size: JSON.stringify(struct).length + 40 };
      running.samples.push(sample);
      this.#waiting += sample.size;
      while (this.#waiting > MOST_WAITING) this.#dropOldest();
      running.error = "";
    } catch (error) {
      const text = textOf(error);
      if (text !== running.error) log.write("warn", `data.${name}`, `${method}: ${text}`);
      running.error = text;
    } finally {
      running.busy = false;
    }
  }

  #dropOldest(): void {
    const oldest = this.#running.filter(({ samples }) => samples.length > 0)
      .sort((a, b) => (a.samples[0]?.from ?? 0) - (b.samples[0]?.from ?? 0))[0];
    const gone = oldest?.samples.shift();
    if (!gone) {
      this.#waiting = 0;
      return;
    }
    this.#waiting -= gone.size;
    if (this.#dropped++ === 0) {
      const why = "the cloud does not take them as fast as they come";
      this.options.log.write("warn", "data", `the oldest captured readings are dropped: ${why}`);
    }
  }

  #scheduleSync(): void {
    this.#syncTimer = this.options.host.setTimer(this.#syncMs, () => {
      this.#scheduleSync();
      if (!this.#uploading) this.#upload();
    });
  }

  async #upload(): Promise<void> {
    const { client, host, log } = this.options;
    // Data without a time would be worth nothing.
    if (!client || wallNow(host) === 0) return;
    this.#uploading = true;
    try {
      for (const running of this.#running) {
        while (running.samples.length > 0) {
          const batch = running.samples.slice(0, MOST_A_CALL);
          await client.call("/viam.app.datasync.v1.DataSyncService/DataCaptureUpload", {
            metadata: running.metadata,
            sensorContents: batch.map(({ from, to, struct }) => ({
              metadata: { timeRequested: wallTime(host, from), timeReceived: wallTime(host, to) },
              struct,
            })),
          });
          this.#forget(running, batch);
        }
      }
      this.#dropped = 0;
    } catch (error) {
      const refused = error instanceof RpcError && error.code === "invalid_argument";
      log.write(refused ? "warn" : "debug", "data", `readings were not uploaded: ${textOf(error)}`);
    } finally {
      this.#uploading = false;
    }
  }

  #forget(running: Running, batch: readonly Sample[]): void {
    const gone = new Set(batch);
    running.samples = running.samples.filter((sample) => !gone.has(sample));
    this.#waiting = this.#running.flatMap(({ samples }) => samples)
      .reduce((sum, { size }) => sum + size, 0);
  }
}

function idle(part: Pick<Running, "samples" | "metadata" | "capture">): Running {
  return { ...part, timer: { id: undefined }, busy: false, error: "" };
}

/** `Readings` and `GetReadings` are the same method. */
async function read(
  graph: ResourceGraph,
  api: string,
  name: string,
  method: string,
): Promise<JsonObject> {
  const resource = graph.find(api, name);
  if (!resource) throw new Error("the resource has an error, or is not there");
  const service = (SERVICES as Readonly<Record<string, string>>)[api];
  const full = [`Get${method}`, method].find((one) => methodTypes(`/${service}/${one}`));
  const own = full === undefined ? undefined : methodOf(resource, full);
  if (!own) throw new Error(`there is no method ${method}`);
  const answer = await own({ name });
  return toJson(methodTypes(`/${service}/${full}`)?.output ?? "", answer as Fields);
}

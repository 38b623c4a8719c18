/** Captures data on the machine and brings it to the cloud. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import type {
  DataManagerService,
  UploadBinaryDataToDatasetsRequest,
} from "../../shared/gen/viam/service/datamanager/v1/data_manager_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";
import { aborted } from "../resources/graph/aborted.ts";
import type { Driver } from "../resources/graph/driver.ts";
import type { CallContext } from "../resources/graph/resource.ts";
import { noCloud, uploadToDatasets } from "./asked_uploads.ts";
import { repairFolder } from "./capture_folder.ts";
import { type CaptureControl, controlledSettings, parseCaptureControl } from "./capture_control.ts";
import { Captures } from "./captures.ts";
import { captureSettings } from "./capture_settings.ts";
import { type DataManagerAttributes, DEFAULTS } from "./attributes.ts";
import { DiskGuard, type DiskGuardOptions } from "./disk_guard.ts";
import type { MachineSeat } from "./machine_seat.ts";
import { sensorValue } from "./sensor_value.ts";
import { Syncer, type SyncOutcome } from "./syncer.ts";
import { UploadRecords } from "./upload_records.ts";

/** From one look at the disk to the next. Milliseconds. */
const DISK_EVERY_MS = 30_000;
/** From one look at the control sensor to the next. Milliseconds. */
const CONTROL_EVERY_MS = 100;

export interface DataManagerOptions {
  readonly attributes: DataManagerAttributes;
  readonly seat: MachineSeat;
  readonly clock: Clock;
  readonly log: Logger;
  /** Folder of captured data. */
  readonly folder: string;
  /** From a folder as it is written to where it is; throws when nothing may be written there. */
  readonly place: (folder: string) => string;
  /** Half of them are for uploads where the attributes don't say how many. */
  readonly processors: number;
  readonly diskUse?: DiskGuardOptions["diskUse"];
}

export class DataManager implements Driver<typeof DataManagerService> {
  readonly #captures: Captures;
  readonly #syncer: Syncer | undefined;
  readonly #records: UploadRecords;
  readonly #ending = new AbortController();
  readonly #loops: Promise<unknown>[] = [];
  readonly #unlisten: () => void;
  #pass: Promise<unknown> = Promise.resolve();
  /** The pass that waits for the one under way. */
  #next: Promise<SyncOutcome> | undefined;
  /** What the control sensor reports; undefined: the configuration counts. */
  #control: CaptureControl | undefined;
  #controlText = "";
  #lastSync: Date | undefined;
  #toldProblem = "";

  private constructor(private readonly options: DataManagerOptions) {
    const { attributes, seat, clock, log, folder } = options;
    const { machine } = seat;
    const tags = attributes.tags ?? [];
    this.#captures = new Captures({
      machine,
      clock,
      log,
      folder,
      tags,
      maximumFileBytes: attributes.maximum_capture_file_size_bytes ?? DEFAULTS.maximumFileBytes,
    });
    this.#records = new UploadRecords(machine.db);
    this.#syncer = machine.cloud && new Syncer({
      cloud: machine.cloud,
      records: this.#records,
      clock,
      log,
      tags,
      parallel: attributes.maximum_num_sync_threads ??
        Math.max(1, Math.floor(options.processors / 2)),
      places: () => ({
        folders: this.#captures.folders,
        additional: attributes.additional_sync_paths ?? [],
        unchangedForMs: attributes.file_last_modified_millis ?? DEFAULTS.unchangedForMs,
      }),
    });
    this.#unlisten = seat.onSpecs(() => this.#follow());
  }

  /** Brings in order what an earlier run left, and begins. */
  static async start(options: DataManagerOptions): Promise<DataManager> {
    const { attributes, seat, log, folder } = options;
    const own = captureSettings(seat.specs, options.place, () => {})
      .flatMap((one) => one.folder ?? []);
    for (const one of new Set([folder, ...own])) await repairFolder(one, log);
    const manager = new DataManager(options);
    manager.#begin(attributes);
    return manager;
  }

  /** Uploads what waits, whether uploads are switched off or not; resolves when that is tried. */
  async sync(_request: unknown, call: CallContext): Promise<Record<string, never>> {
    if (!this.#syncer) throw noCloud();
    this.#syncer.hurry();
    const outcome = await Promise.race([this.#upload(this.#syncer), aborted(call.signal)]);
    if (!outcome) throw toError(call.signal.reason);
    const { failed } = outcome;
    if (failed > 0) {
      throw new ConnectError(
        `${failed} files were not uploaded: ${this.#syncer.error || "see the log"}`,
        Code.Unavailable,
      );
    }
    return {};
  }

  /**
   * Uploads a binary that somebody sends, with the tags of the service in addition to those of the
   * call.
   */
  async uploadBinaryDataToDatasets(
    { binaryData, mimeType, tags, datasetIds }: UploadBinaryDataToDatasetsRequest,
    call: CallContext,
  ): Promise<Record<string, never>> {
    const { attributes, seat: { machine: { cloud } } } = this.options;
    if (!cloud) throw noCloud();
    const marks = { tags: [...new Set([...attributes.tags ?? [], ...tags])], datasetIds };
    await uploadToDatasets(binaryData, mimeType, marks, { cloud, signal: call.signal });
    return {};
  }

  /** What is captured, and how the uploads go. */
  getStatus(): JsonObject {
    return {
      capture: this.#captures.counts().map((one) => ({ ...one })),
      sync: {
        ...this.#records.totals(),
        error: this.#syncer?.error ?? "",
        last_sync: this.#lastSync?.toISOString() ?? null,
      },
    };
  }

  async close(): Promise<void> {
    this.#unlisten();
    this.#ending.abort(new Error("the data manager is closed"));
    await this.#captures.close();
    await Promise.all(this.#loops);
    await this.#pass;
  }

  #begin(attributes: DataManagerAttributes): void {
    const { folder, log, diskUse } = this.options;
    this.#follow();
    if (attributes.mongo_capture_config) {
      log.warn(
        "mongo_capture_config has no effect: captured data goes into files and to the cloud",
      );
    }
    const control = attributes.capture_control_sensor;
    if (control) this.#loop(CONTROL_EVERY_MS, () => this.#askControl(control));
    if (!attributes.capture_disabled) {
      const guard = new DiskGuard({
        folders: () => this.#captures.folders,
        diskThreshold: attributes.disk_usage_deletion_threshold ?? DEFAULTS.diskThreshold,
        captureThreshold: attributes.capture_dir_deletion_threshold ?? DEFAULTS.captureThreshold,
        everyNth: attributes.delete_every_nth_when_disk_full ?? DEFAULTS.everyNth,
        log,
        ...(diskUse && { diskUse }),
      });
      this.#loop(DISK_EVERY_MS, async () => void await guard.look());
    }
    const syncer = this.#syncer;
    if (syncer && !attributes.sync_disabled) {
      const minutes = attributes.sync_interval_mins || DEFAULTS.syncIntervalMins;
      this.#loop(minutes * 60_000, () => this.#regularSync(syncer));
    }
    log.debug("the data manager begins", { folder });
  }

  /** Does something again and again until the end; what it throws is reported and not the end. */
  #loop(everyMs: number, work: () => Promise<void>): void {
    const { clock, log } = this.options;
    let told = "";
    const turn = async () => {
      await work();
      told = "";
    };
    const onFailure = (error: unknown) => {
      const { message } = toError(error);
      if (message !== told) log.warn(message);
      told = message;
    };
    const waits = { clock, intervalMs: everyMs, firstMs: everyMs, onFailure };
    this.#loops.push(pollLoop(turn, waits, this.#ending.signal));
  }

  /** Captures what the configuration specifies now. */
  #follow(): void {
    const { attributes, seat, log, place } = this.options;
    const problems: string[] = [];
    const warn = (problem: string) => problems.push(problem);
    const configured = captureSettings(seat.specs, place, warn);
    const wanted = controlledSettings(configured, this.#control ?? true, seat.specs, warn);
    const text = problems.join("\n");
    if (text !== this.#toldProblem) { for (const problem of problems) log.warn(problem); }
    this.#toldProblem = text;
    this.#captures.apply(attributes.capture_disabled ? [] : wanted, configured);
  }

  /**
   * What the sensor reports counts until it says something else; while it fails, the configuration.
   */
  async #askControl({ name, key }: { name: string; key: string }): Promise<void> {
    const { seat: { machine }, clock, log } = this.options;
    const { signal } = this.#ending;
    try {
      const value = await sensorValue({ resources: machine.resources, clock, name, key, signal });
      const text = JSON.stringify(value) ?? "";
      if (text === this.#controlText) return;
      const where = `reading ${key} of the capture control sensor ${name}`;
      this.#control = parseCaptureControl(value, where, (problem) => log.warn(problem));
      this.#controlText = text;
      this.#follow();
    } catch (error) {
      const counted = this.#control !== undefined;
      this.#control = undefined;
      this.#controlText = "";
      if (counted && !signal.aborted) this.#follow();
      throw error;
    }
  }

  async #regularSync(syncer: Syncer): Promise<void> {
    if (!syncer.isReady || !await this.#maySync()) return;
    await this.#upload(syncer);
  }

  async #maySync(): Promise<boolean> {
    const { attributes, seat: { machine }, clock } = this.options;
    const name = attributes.selective_syncer_name;
    if (name === undefined) return true;
    const { signal } = this.#ending;
    const { resources } = machine;
    return await sensorValue({ resources, clock, name, key: "should_sync", signal }) === true;
  }

  /** One pass after the other; a caller that comes while one waits to begin gets that one. */
  #upload(syncer: Syncer): Promise<SyncOutcome> {
    if (this.#next) return this.#next;
    const pass = this.#pass.then(async () => {
      this.#next = undefined;
      await this.#captures.rotate();
      const outcome = await syncer.pass(this.#ending.signal);
      this.#lastSync = this.options.clock.now();
      return outcome;
    });
    this.#next = pass;
    this.#pass = pass.catch(() => {}); // whoever requested the pass is notified
    return pass;
  }
}

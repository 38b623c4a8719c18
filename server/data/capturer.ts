/** Captures one method of one resource. */
import { join } from "node:path";
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type Any, anyPack, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import { CaptureWriter } from "../../shared/capture_file/capture_writer.ts";
import { encodeMetadata, ReadingEncoder } from "../../shared/capture_file/encode.ts";
import {
  DataCaptureMetadataSchema,
  DataType,
} from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { linkedController } from "../../shared/base/time/linked_controller.ts";
import { reasonOf } from "../resources/graph/errors.ts";
import { fullName } from "../resources/graph/name.ts";
import { fileNameOf, folderOf } from "./capture_folder.ts";
import type { CaptureSettings } from "./capture_settings.ts";
import { type CapturedMethod, capturedMethod, type Sample } from "./captured_method.ts";
import type { ExactTime } from "./exact_time.ts";
import type { DataMachine } from "./machine_seat.ts";
import { Ticker } from "./ticker.ts";

/** A driver that has not answered for so long is queried again. Milliseconds. */
const CALL_LIMIT_MS = 60_000;
/** The same failure is not logged more often. Milliseconds. */
const TELL_EVERY_MS = 60_000;
/** How much may be lost in a power cut. Milliseconds. */
const SYNC_EVERY_MS = 1_000;
/** Files that wait to be safe on the disk. */
const MOST_UNFINISHED = 64;
/** What a module's filter answers for a reading that is not worth keeping. */
const FILTERED = "no capture from filter module";

export interface CapturerOptions {
  readonly settings: CaptureSettings;
  /** Those of the service and the method together. */
  readonly tags: readonly string[];
  readonly folder: string;
  readonly maximumFileBytes: number;
  readonly machine: DataMachine;
  readonly clock: Clock;
  readonly time: ExactTime;
  readonly log: Logger;
}

/** What became of the readings, since the start. */
export interface CaptureCounts {
  readonly captured: number;
  /** The driver failed, or the disk. */
  readonly failed: number;
  /** The resource was not ready. */
  readonly absent: number;
  readonly overlapped: number;
  readonly late: number;
  /** Why the last one failed; empty while they don't. */
  readonly error: string;
}

export class Capturer {
  readonly #controller = new AbortController();
  readonly #ticker: Ticker;
  readonly #encoder = new ReadingEncoder();
  readonly #folder: string;
  #call: AbortController;
  #method: CapturedMethod | undefined;
  /** The tabular file that grows. */
  #writer: CaptureWriter | undefined;
  #lastName = 0;
  #syncedMs = 0;
  #background: Promise<void> = Promise.resolve();
  /** Background work that has not ended. */
  #unfinished = 0;
  #captured = 0;
  #failed = 0;
  #absent = 0;
  #error = "";
  /** The failure that was last written to the log, and when. */
  #told = "";
  #toldMs = -Infinity;

  constructor(private readonly options: CapturerOptions) {
    const { settings, clock } = options;
    this.#folder = folderOf(settings.folder ?? options.folder, settings);
    this.#call = linkedController(this.#controller.signal);
    this.#ticker = new Ticker({
      clock,
      intervalMs: 1_000 / settings.frequencyHz,
      tick: () => this.#tick(),
      onPause: () => this.#pause(),
    });
  }

  get counts(): CaptureCounts {
    const { overlapped, late } = this.#ticker.counts;
    return {
      captured: this.#captured,
      failed: this.#failed,
      absent: this.#absent,
      overlapped,
      late,
      error: this.#error,
    };
  }

  /** Ends the file that grows, so that it can be uploaded; the next reading begins another. */
  async rotate(): Promise<void> {
    this.#retire();
    await this.#background;
  }

  /** Ends capture. What was captured is on the disk then. */
  async close(): Promise<void> {
    this.#ticker.close();
    this.#controller.abort(new Error("the capture is stopped"));
    await this.rotate();
  }

  #tick(): void | Promise<void> {
    const { machine, settings: { api, name }, time } = this.options;
    const requestedMs = time.nowMs();
    if (!machine.resources.find(api, name)?.instance) {
      this.#absent++;
      return;
    }
    let node;
    try {
      node = machine.resources.acquire(api, name);
      const method = this.#method ??= this.#find();
      const sample = method.read(node.instance!, this.#call);
      if (!(sample instanceof Promise)) return this.#keep(sample, requestedMs);
      const used = node;
      node = undefined;
      return this.#later(sample, requestedMs)
        .finally(() => machine.resources.release(used));
    } catch (error) {
      this.#fail(error);
    } finally {
      if (node) machine.resources.release(node);
    }
  }

  /** Waits for the driver, but not forever. */
  async #later(sample: Promise<Sample>, requestedMs: number): Promise<void> {
    const call = this.#call;
    const { clock } = this.options;
    let limit;
    try {
      const over = Promise.withResolvers<never>();
      limit = clock.setTimer(CALL_LIMIT_MS, () => {
        const error = new Error(`it has not answered for ${CALL_LIMIT_MS / 1_000} s`);
        this.#call = linkedController(this.#controller.signal);
        call.abort(error);
        over.reject(error);
      });
      const stop = () => over.reject(this.#controller.signal.reason);
      this.#controller.signal.addEventListener("abort", stop, { once: true });
      try {
        this.#keep(await Promise.race([sample, over.promise]), requestedMs);
      } finally {
        this.#controller.signal.removeEventListener("abort", stop);
      }
    } catch (error) {
      if (!this.#controller.signal.aborted) this.#fail(error);
    } finally {
      limit?.cancel();
    }
  }

  #find(): CapturedMethod {
    const { machine, settings } = this.options;
    const service = machine.serviceOf(settings.api);
    if (!service) throw new Error(`nobody knows the methods of ${settings.api}`);
    return capturedMethod(service, settings);
  }

  #keep(sample: Sample, requestedMs: number): void {
    const receivedMs = Math.max(requestedMs, this.options.time.nowMs());
    if (!isBinaries(sample)) {
      this.#encoder.add({ requestedMs, receivedMs, data: sample });
      // At once, also where more are due: a kill must not take more than one.
      return this.#flush();
    }
    if (this.#unfinished >= MOST_UNFINISHED) {
      throw new Error("the disk is too slow: earlier files are not written yet");
    }
    for (const { bytes, mimeType } of sample) {
      const extension = extensionOf(mimeType);
      const metadata = this.#metadata(DataType.BINARY_SENSOR, extension, mimeType);
      const writer = CaptureWriter.begin(this.#nextPath(), metadata);
      const encoder = new ReadingEncoder(bytes.length + 64);
      encoder.add({ requestedMs, receivedMs, data: bytes });
      try {
        writer.append(encoder.take());
      } finally {
        // A file without its reading is removed as one that a killed server left behind.
        this.#finish(writer);
      }
      this.#captured++;
    }
    this.#error = "";
  }

  #pause(): void {
    const nowMs = this.options.clock.monotonicMs();
    const writer = this.#writer;
    if (!writer) return;
    if (writer.bytes >= this.options.maximumFileBytes) return this.#retire();
    if (nowMs - this.#syncedMs < SYNC_EVERY_MS) return;
    this.#syncedMs = nowMs;
    this.#inBackground(() => writer.sync());
  }

  /** Writes the reading that the encoder holds. */
  #flush(): void {
    const frames = this.#encoder.take();
    try {
      this.#writer ??= CaptureWriter.begin(
        this.#nextPath(),
        this.#metadata(DataType.TABULAR_SENSOR, ".dat", ""),
      );
      this.#writer.append(frames);
      this.#captured++;
      this.#error = "";
    } catch (error) {
      this.#fail(error);
    }
  }

  #retire(): void {
    const writer = this.#writer;
    this.#writer = undefined;
    if (writer) this.#finish(writer);
  }

  #finish(writer: CaptureWriter): void {
    this.#inBackground(() => writer.finish());
  }

  #inBackground(work: () => Promise<void>): void {
    this.#unfinished++;
    this.#background = this.#background.then(work)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => this.#unfinished--);
  }

  /** No two files of a method have the same name. */
  #nextPath(): string {
    const microseconds = Math.floor(this.options.time.nowMs() * 1_000);
    this.#lastName = Math.max(microseconds, this.#lastName + 1);
    return join(this.#folder, fileNameOf(this.#lastName));
  }

  #metadata(type: DataType, fileExtension: string, mimeType: string): Uint8Array {
    const { settings, tags } = this.options;
    return encodeMetadata(create(DataCaptureMetadataSchema, {
      componentType: settings.api,
      componentName: settings.name,
      methodName: settings.method,
      type,
      methodParameters: packed(settings.parameters),
      fileExtension,
      tags: [...tags],
      mimeType,
    }));
  }

  #fail(thrown: unknown): void {
    if (isFiltered(thrown)) return;
    this.#failed++;
    const error = reasonOf(toError(thrown));
    const { clock, log, settings } = this.options;
    this.#error = error;
    const nowMs = clock.monotonicMs();
    if (error === this.#told && nowMs - this.#toldMs < TELL_EVERY_MS) return;
    this.#told = error;
    this.#toldMs = nowMs;
    log.warn(
      `${settings.method} of ${fullName(settings.api, settings.name)} is not captured: ${error}`,
      { failed: this.#failed },
    );
  }
}

function isBinaries(sample: Sample): sample is Extract<Sample, readonly unknown[]> {
  return Array.isArray(sample);
}

function isFiltered(thrown: unknown): boolean {
  return thrown instanceof ConnectError && thrown.code === Code.FailedPrecondition &&
    thrown.rawMessage.includes(FILTERED);
}

function packed(parameters: JsonObject): Record<string, Any> {
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [
      key,
      anyPack(ValueSchema, fromJson(ValueSchema, value)),
    ]),
  );
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/jpeg": ".jpeg",
  "image/png": ".png",
  "pointcloud/pcd": ".pcd",
  "video/mp4": ".mp4",
};

function extensionOf(mimeType: string): string {
  return EXTENSIONS[mimeType] ?? ".dat";
}

/** The cloud's data, as models that play it back request it. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import { DataService, Order } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { CloudAccess } from "../../data/data_cloud.ts";
import type { MachineSeat } from "../../data/machine_seat.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { Recording } from "./recording.ts";
import type { ReplayAttributes } from "./replay_attributes.ts";
import { type DataKind, replayFilter } from "./replay_filter.ts";

/** How long the cloud may take for a batch. */
const BATCH_LIMIT_MS = 30_000;

/** A file of captured data. */
export interface CapturedFile {
  readonly bytes: Uint8Array;
  readonly capturedAt: Date;
  /** For errors: "the data 42/1/7 of the cloud". */
  readonly origin: string;
}

/** Where a model gets its data from: the machine's cloud, with the key of its attributes. */
export class ReplayCloud {
  readonly #access: CloudAccess;
  readonly #data: Client<typeof DataService>;
  readonly #batch: bigint;

  private constructor(
    access: CloudAccess,
    readonly attributes: ReplayAttributes,
    readonly api: string,
    batchSize: number,
  ) {
    this.#access = access;
    this.#data = access.client(DataService);
    this.#batch = BigInt(attributes.batch_size ?? batchSize);
  }

  /**
   * Nothing is sent yet.
   *
   * @param api of the captured resource.
   * @throws {Error} when the machine has no cloud.
   */
  static open(
    seat: MachineSeat | undefined,
    attributes: ReplayAttributes,
    { api, batchSize }: { readonly api: string; readonly batchSize: number },
  ): ReplayCloud {
    const connect = seat?.machine.connectCloud;
    if (!connect) {
      throw new Error(
        "this machine has no cloud to play data from: its configuration is a file; configure it " +
          "in a cloud",
      );
    }
    const { api_key_id: entity, api_key: payload } = attributes;
    const access = connect({ type: "api-key", entity, payload });
    return new ReplayCloud(access, attributes, api, batchSize);
  }

  close(): void {
    this.#access.close();
  }

  /** Files of some types. */
  files(mimeTypes: readonly string[]): Recording<CapturedFile> {
    return new Recording(async (last, signal) => {
      const page = await this.#ask(signal, (options) =>
        this.#data.binaryDataByFilter({
          dataRequest: this.#request({ mimeType: [...mimeTypes] }, last),
          includeBinary: true,
        }, options));
      return {
        last: page.last,
        items: page.data.map(({ binary, metadata }) => ({
          bytes: binary,
          capturedAt: dateOf(metadata?.timeReceived ?? metadata?.timeRequested),
          origin: `the data ${metadata?.binaryDataId} of the cloud`,
        })),
      };
    });
  }

  /** What a method answered. @param method as data names it: `Position`. */
  answers(method: string): Recording<JsonObject> {
    return new Recording(async (last, signal) => {
      const page = await this.#ask(signal, (options) =>
        this.#data.tabularDataByFilter(
          { dataRequest: this.#request({ method }, last) },
          options,
        ));
      return { last: page.last, items: page.data.map(({ data }) => data ?? {}) };
    });
  }

  /**
   * The answers of a method that may have been captured by either of its names; undefined when it
   * was not captured. @param method `Position`, which data may also call `GetPosition`.
   */
  async found(method: string, signal: AbortSignal): Promise<Recording<JsonObject> | undefined> {
    for (const name of [method, `Get${method}`]) {
      const recording = this.answers(name);
      if (await recording.peek(signal) !== undefined) return recording;
    }
    return undefined;
  }

  /** @param what the data that was looked for: "images". */
  nothingFound(what: string): ConnectError {
    const { source, robot_id, location_id, organization_id, interval, api_key_id } =
      this.attributes;
    const shown = (time: Timestamp | undefined) => time && timestampDate(time).toISOString();
    const from = shown(interval?.start);
    const to = shown(interval?.end);
    const when = (from ? ` from ${from}` : "") + (to ? ` until ${to}` : "");
    return new ConnectError(
      `the cloud has no ${what} of ${this.api}/${source} of machine ${robot_id} in location ` +
        `${location_id} of organisation ${organization_id}${when} that API key ${api_key_id} may ` +
        "see; check source, the ids and interval, and what was captured on the page Data",
      Code.NotFound,
    );
  }

  #request(kind: DataKind, last: string) {
    return {
      filter: replayFilter(this.attributes, this.api, kind),
      limit: this.#batch,
      last,
      sortOrder: Order.ASCENDING,
    };
  }

  async #ask<T>(signal: AbortSignal, call: (options: CallOptions) => Promise<T>): Promise<T> {
    try {
      return await call({ signal, timeoutMs: BATCH_LIMIT_MS });
    } catch (error) {
      signal.throwIfAborted();
      throw this.#explained(ConnectError.from(error));
    }
  }

  #explained(error: ConnectError): ConnectError {
    const { code } = error;
    const reason = reasonOf(error);
    const { api_key_id: key, organization_id: organization } = this.attributes;
    switch (code) {
      case Code.Unauthenticated:
        return new ConnectError(
          `the cloud does not take API key ${key}: ${reason}; set api_key_id and api_key to a ` +
            `key of organisation ${organization}`,
          Code.FailedPrecondition,
        );
      case Code.PermissionDenied:
        return new ConnectError(
          `API key ${key} may not read the data: ${reason}; use one that may see machine ` +
            this.attributes.robot_id,
          Code.FailedPrecondition,
        );
      case Code.Unavailable:
      case Code.DeadlineExceeded:
        return new ConnectError(
          `the cloud cannot be reached: ${reason}; the next attempt requests the same data again`,
          Code.Unavailable,
        );
      case Code.ResourceExhausted:
        return new ConnectError(
          `the cloud does not give the next data: ${reason}; if it is too large, leave it out with ` +
            "interval",
          code,
        );
      default:
        return error;
    }
  }
}

function dateOf(time: Timestamp | undefined): Date {
  return time ? timestampDate(time) : new Date(0);
}

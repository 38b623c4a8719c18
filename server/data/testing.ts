/** For tests: a machine with some resources, and a cloud that takes data. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { DescService, JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  DataSyncService,
  type SensorData,
  type UploadMetadata,
} from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { type MemoryLogger, memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { closeSqlite, type Database, openSqlite } from "../../shared/base/store/sqlite.ts";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { anyAttributes } from "../resources/graph/attributes.ts";
import { FrameSystem } from "../resources/frames/frame_system.ts";
import { ResourceManager } from "../resources/graph/manager.ts";
import { ModelRegistry } from "../resources/graph/registry.ts";
import type { Resource } from "../resources/graph/resource.ts";
import type { ResourceSpec } from "../resources/graph/target.ts";
import { serverMigrations } from "../config/state/schema.ts";
import { dataManagerAttributes } from "./attributes.ts";
import { DataManager, type DataManagerOptions } from "./data_manager.ts";
import { MachineSeat } from "./machine_seat.ts";

const SERVICES: Readonly<Record<string, DescService>> = {
  "rdk:component:camera": CameraService,
  "rdk:component:motor": MotorService,
  "rdk:component:sensor": SensorService,
};

/** One upload as the fake cloud keeps it. */
export interface Upload {
  readonly kind: "capture" | "stream" | "file";
  readonly metadata: UploadMetadata;
  readonly readings: readonly SensorData[];
  /** Of streams and files. */
  readonly bytes: Uint8Array;
  /** How many messages carried the bytes. */
  readonly pieces: number;
}

/** Takes every upload, or answers with an error. */
class DataCloudFake {
  readonly uploads: Upload[] = [];
  /** How many uploads have come, answered or not. */
  asked = 0;
  /** Asked before each upload is kept; what it throws is the answer. */
  refuse: (metadata: UploadMetadata) => void = () => {};
  /** Each upload waits for it before it is answered. */
  hold: Promise<void> = Promise.resolve();

  readonly #transport = createRouterTransport(({ service }) => {
    service(DataSyncService, {
      dataCaptureUpload: async ({ metadata, sensorContents }) => {
        const bytes = new Uint8Array();
        return await this.#keep("capture", metadata, sensorContents, { bytes, pieces: 0 });
      },
      streamingDataCaptureUpload: async (requests) => {
        let metadata: UploadMetadata | undefined;
        const readings: SensorData[] = [];
        const parts: Uint8Array[] = [];
        for await (const { uploadPacket } of requests) {
          if (uploadPacket.case === "metadata") metadata = uploadPacket.value.uploadMetadata;
          if (uploadPacket.case === "data") parts.push(uploadPacket.value);
        }
        return await this.#keep("stream", metadata, readings, joined(parts));
      },
      fileUpload: async (requests) => {
        let metadata: UploadMetadata | undefined;
        const parts: Uint8Array[] = [];
        for await (const { uploadPacket } of requests) {
          if (uploadPacket.case === "metadata") metadata = uploadPacket.value;
          if (uploadPacket.case === "fileContents") parts.push(uploadPacket.value.data);
        }
        return await this.#keep("file", metadata, [], joined(parts));
      },
    });
  });
  readonly client = <S extends DescService>(service: S) => createClient(service, this.#transport);

  /** Values under `readings` of all uploads, in order. */
  get values(): unknown[] {
    return this.uploads.flatMap(({ readings }) =>
      readings.map(({ data }) => data.case === "struct" ? data.value["readings"] : undefined)
    );
  }

  async #keep(
    kind: Upload["kind"],
    metadata: UploadMetadata | undefined,
    readings: readonly SensorData[],
    { bytes, pieces }: Pick<Upload, "bytes" | "pieces">,
  ) {
    if (!metadata) throw new ConnectError("no metadata", Code.InvalidArgument);
    this.asked++;
    await this.hold;
    this.refuse(metadata);
    this.uploads.push({ kind, metadata, readings, bytes, pieces });
    return { fileId: String(this.uploads.length) };
  }
}

function joined(parts: readonly Uint8Array[]): Pick<Upload, "bytes" | "pieces"> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return { bytes, pieces: parts.length };
}

/** What makes two uploads the same one. */
export function identityOf({ metadata, readings, bytes }: Upload): string {
  const hash = createHash("sha256");
  const plain = (_key: string, value: unknown) => typeof value === "bigint" ? `${value}` : value;
  hash.update(JSON.stringify([metadata, readings], plain)).update(bytes);
  return hash.digest("hex");
}

/** One resource of a test machine. */
export interface TestResource {
  readonly api: string;
  readonly name: string;
  readonly driver: Resource;
  readonly capture?: JsonObject[];
}

/** A sensor with what of it is captured. */
export function testSensor(
  name: string,
  getReadings: () => JsonObject | Promise<JsonObject>,
  ...capture: JsonObject[]
): TestResource {
  const driver = { getReadings } as Resource;
  return { api: "rdk:component:sensor", name, driver, capture };
}

export class DataRig {
  readonly cloud = new DataCloudFake();
  readonly log: MemoryLogger = memoryLogger("data_manager");
  readonly seat = new MachineSeat();
  readonly resources: ResourceManager;
  readonly #drivers = new Map<string, Resource>();
  readonly #db: Database;

  constructor(readonly home: string, readonly clock: Clock = systemClock, hasCloud = true) {
    const registry = new ModelRegistry();
    for (const api of Object.keys(SERVICES)) {
      registry.register({
        api,
        model: "test",
        attributes: anyAttributes,
        construct: ({ name }) => this.#drivers.get(name)!,
      });
    }
    this.resources = new ResourceManager({ registry, clock: systemClock, log: memoryLogger("r") });
    this.#db = openSqlite(join(home, "server.db"), {
      name: "server",
      migrations: serverMigrations,
      synchronous: "FULL",
    });
    this.seat.take({
      resources: this.resources.index,
      frames: new FrameSystem({
        ...{ resources: this.resources.index, clock: systemClock, log: memoryLogger("f") },
      }),
      serviceOf: (api) => SERVICES[api],
      db: this.#db,
      cloud: hasCloud ? { client: this.cloud.client, partId: "part" } : undefined,
      connectCloud: undefined,
    });
  }

  /** Folder of captured data. */
  get folder(): string {
    return join(this.home, "capture");
  }

  /** Makes these the resources of the machine. */
  async configure(...resources: TestResource[]): Promise<void> {
    for (const { name, driver } of resources) this.#drivers.set(name, driver);
    const specs = resources.map(({ api, name, capture }): ResourceSpec => ({
      name,
      api,
      model: "test",
      attributes: {},
      dependsOn: [],
      extra: {
        service_configs: [{ type: "data_manager", attributes: { capture_methods: capture ?? [] } }],
      },
    }));
    this.seat.setSpecs(specs);
    await this.resources.apply(specs, "");
  }

  start(
    attributes: JsonObject = {},
    options: Partial<DataManagerOptions> = {},
  ): Promise<DataManager> {
    return DataManager.start({
      attributes: dataManagerAttributes.parse(attributes).attributes,
      seat: this.seat,
      clock: this.clock,
      log: this.log,
      folder: this.folder,
      place: (folder) => join(this.home, folder),
      processors: 4,
      ...options,
    });
  }

  async close(): Promise<void> {
    await this.resources.close();
    closeSqlite(this.#db);
  }
}

/** A rig in a folder of its own. */
export async function withRig(
  test: (rig: DataRig) => Promise<void>,
  { clock, hasCloud }: { clock?: Clock; hasCloud?: boolean } = {},
): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "data-manager-" });
  const rig = new DataRig(home, clock, hasCloud);
  try {
    await test(rig);
  } finally {
    await rig.close();
    await Deno.remove(home, { recursive: true });
  }
}

/** Paths below a folder, sorted. */
export async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  const look = async (path: string, name: string) => {
    for await (const entry of Deno.readDir(path)) {
      const inner = name ? `${name}/${entry.name}` : entry.name;
      if (entry.isDirectory) await look(join(path, entry.name), inner);
      else found.push(inner);
    }
  };
  await look(folder, "").catch(() => {}); // no folder, no files
  return found.sort();
}

export const call = { signal: new AbortController().signal };

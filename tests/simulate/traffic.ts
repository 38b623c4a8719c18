import { setTimeout as sleep } from "node:timers/promises";
import { timestampFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { GrpcClient } from "../bench/grpc_client.ts";
import { Latencies } from "./latencies.ts";
import type { SimulatedMachines } from "./simulated_machines.ts";

/** What each machine sends, and how often. */
const STATUS_EVERY_S = 20;
const LOGS_EVERY_S = 60;
const READINGS_EVERY_S = 60;
/** Lines of one call and readings of one upload. */
const LINES = 5;
const READINGS = 60;

const MOST_UNDER_WAY = 400;
const LOOK_EVERY_MS = 5;

/** What machines send besides their streams. Each kind continues until the signal aborts. */
export class Traffic {
  readonly statuses = new Latencies();
  readonly logs = new Latencies();
  readonly uploads = new Latencies();
  /** Lines that the cloud has acknowledged, by part. */
  readonly lines = new Map<string, number>();
  /** Readings likewise. */
  readonly readings = new Map<string, number>();
  #machine: Client<typeof MachineService>;
  #robot: Client<typeof RobotService>;
  #sync: Client<typeof DataSyncService>;

  constructor(private readonly machines: SimulatedMachines, grpc: GrpcClient) {
    this.#machine = grpc.client(MachineService);
    this.#robot = grpc.client(RobotService);
    this.#sync = grpc.client(DataSyncService);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#each(STATUS_EVERY_S, signal, (n) => this.#sendStatus(n)),
      this.#each(LOGS_EVERY_S, signal, (n) => this.#sendLogs(n)),
      this.#each(READINGS_EVERY_S, signal, (n) => this.#sendReadings(n)),
    ]);
  }

  /** Has each machine send once in so many seconds, one after the other, evenly. */
  async #each(seconds: number, signal: AbortSignal, send: (n: number) => Promise<void>) {
    const started = performance.now();
    const running = new Set<Promise<void>>();
    for (let n = 0; !signal.aborted;) {
      const due = (performance.now() - started) / 1_000 * this.machines.count / seconds;
      for (; n < due && running.size < MOST_UNDER_WAY; n++) {
        const one = send(n).finally(() => running.delete(one));
        running.add(one);
      }
      await sleep(LOOK_EVERY_MS);
    }
    await Promise.all(running);
  }

  async #sendStatus(n: number): Promise<void> {
    const partId = this.machines.idOf(n);
    await this.statuses.measure(this.#machine.reportStatus({ partId, status: {} }));
  }

  async #sendLogs(n: number): Promise<void> {
    const id = this.machines.idOf(n);
    const logs = Array.from({ length: LINES }, (_, at) => ({
      host: "simulated",
      level: "info",
      time: timestampNow(),
      loggerName: "rdk.simulated",
      message: `line ${at} of call ${n}`,
    }));
    const isKept = await this.logs.measure(this.#robot.log({ id, logs }));
    if (isKept) this.lines.set(id, (this.lines.get(id) ?? 0) + LINES);
  }

  async #sendReadings(n: number): Promise<void> {
    const now = Date.now();
    const partId = this.machines.idOf(n);
    const isKept = await this.uploads.measure(this.#sync.dataCaptureUpload({
      metadata: {
        partId,
        componentType: "rdk:component:sensor",
        componentName: "climate",
        methodName: "Readings",
        type: DataType.TABULAR_SENSOR,
      },
      sensorContents: Array.from({ length: READINGS }, (_, at) => {
        const time = timestampFromMs(now - (READINGS - at) * 1_000);
        const readings = { temperature: 20 + at / 10, humidity: 45.5, ok: at % 7 !== 0 };
        return {
          metadata: { timeRequested: time, timeReceived: time },
          data: { case: "struct" as const, value: { readings } },
        };
      }),
    }));
    if (isKept) this.readings.set(partId, (this.readings.get(partId) ?? 0) + READINGS);
  }
}

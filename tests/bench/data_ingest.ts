import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import {
  type DataCaptureUploadRequest,
  DataCaptureUploadRequestSchema,
  DataSyncService,
  DataType,
} from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import { Rig } from "../e2e/rig.ts";
import { processorMs } from "./footprint.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const PARTS = 10;
/** Readings in one upload. */
const BATCH = 100;
const IN_FLIGHT = 8;
const FLOOD_BATCHES = 1_500;
/** What machines are expected to send, readings a second. */
const PACE = 10_000;
const PACED_SECONDS = 20;

/** A trigger that looks at every reading and never fires. */
const CONFIG = {
  triggers: [{
    name: "hot",
    event: {
      type: "conditional_data_ingested",
      conditional: {
        data_capture_method: "sensor:climate:Readings",
        conditions: { evals: [{ operator: "gt", value: { temperature: 1_000 } }] },
      },
    },
    notifications: [{ type: "webhook", value: "https://example.com/hook" }],
  }],
  components: [{ name: "climate", api: "rdk:component:sensor", model: "rdk:builtin:fake" }],
};

interface Sender {
  readonly partId: string;
  readonly sync: Client<typeof DataSyncService>;
}

/**
 * Tabular readings that the cloud has stored and acknowledged, in uploads of 100 of ten parts with
 * one conditional trigger each: as many as go, and how long an upload takes at 10,000 a second.
 */
export async function benchDataIngest(reporter: Reporter): Promise<void> {
  reporter.note(`${FLOOD_BATCHES * BATCH + PACE * PACED_SECONDS} readings …`);
  await using rig = await Rig.create();
  const machines = await bootstrapAll(rig);
  const cloud = await rig.startCloud();
  using connections = new DisposableStack();
  const senders: Sender[] = [];
  for (const { part_id, part_secret } of machines) {
    const identity = { type: "robot-secret", id: part_id, key: part_secret } as const;
    const { accessToken } = await signIn(rig.cloudUrl, identity);
    const grpc = connections.use(new GrpcClient(rig.cloudUrl, accessToken));
    senders.push({ partId: part_id, sync: grpc.client(DataSyncService) });
  }
  let made = 0;
  const send = async () => {
    const sender = senders[made % PARTS];
    if (sender) await sender.sync.dataCaptureUpload(batch(sender.partId, made++));
  };
  for (let n = 0; n < 100; n++) await send();

  const usedMs = await processorMs(cloud.pid);
  const started = performance.now();
  let left = FLOOD_BATCHES;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (left-- > 0) await send();
  }));
  const seconds = (performance.now() - started) / 1_000;
  reporter.report("data_ingest", FLOOD_BATCHES * BATCH / seconds, "readings/s");
  const used = await processorMs(cloud.pid) - usedMs;
  reporter.report("data_ingest_processor", used * 1_000 / (FLOOD_BATCHES * BATCH), "µs a reading");

  const latencies = await paced(send);
  reporter.report("data_ingest_at_10k_p50", percentile(latencies, 0.5), "ms");
  reporter.report("data_ingest_at_10k_p99", percentile(latencies, 0.99), "ms");
}

/** Starts an upload every 10 ms, whatever became of those before. */
async function paced(send: () => Promise<void>): Promise<number[]> {
  const everyMs = 1_000 * BATCH / PACE;
  const latencies: number[] = [];
  const running: Promise<void>[] = [];
  const started = performance.now();
  for (let n = 0; n < PACED_SECONDS * PACE / BATCH; n++) {
    const due = started + n * everyMs;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    // From when it was due: waiting in a queue is part of how long it takes.
    running.push(send().then(() => void latencies.push(performance.now() - due)));
  }
  await Promise.all(running);
  return latencies;
}

async function bootstrapAll(rig: Rig): Promise<Bootstrapped[]> {
  const machines = [await rig.bootstrap(CONFIG)];
  const config = `${rig.dir}/config.json`;
  for (let n = 1; n < PARTS; n++) {
    const { code, stdout, stderr } = await rig.run("machine-cloud", [
      "bootstrap",
      ...["--data", `${rig.dir}/cloud`, "--org", "Test", "--location", "Lab"],
      ...["--machine", `bench${n}`, "--config", config, "--public-url", rig.cloudUrl],
    ]);
    if (code !== 0) throw new Error(stderr);
    machines.push(JSON.parse(stdout) as Bootstrapped);
  }
  return machines;
}

function batch(partId: string, number: number): DataCaptureUploadRequest {
  const from = Date.UTC(2026, 0, 1) + number * BATCH * 10;
  return create(DataCaptureUploadRequestSchema, {
    metadata: {
      partId,
      componentType: "rdk:component:sensor",
      componentName: "climate",
      methodName: "Readings",
      type: DataType.TABULAR_SENSOR,
    },
    sensorContents: Array.from({ length: BATCH }, (_, n) => {
      const time = timestampFromMs(from + n * 10);
      const readings = { temperature: 20 + n / 10, humidity: 45.5, ok: n % 7 !== 0 };
      return {
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "struct" as const, value: { readings } },
      };
    }),
  });
}

import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { type LogEntry, LogEntrySchema } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import type { Reporter } from "./report.ts";

/** As many as a machine's server sends in one call. */
const BATCH = 100;
const BATCHES = 3000;
const IN_FLIGHT = 16;

/** Log lines that the cloud has stored and acknowledged, in calls of 100 lines, 16 at a time. */
export async function benchLogIngest(reporter: Reporter): Promise<void> {
  reporter.note(`${BATCH * BATCHES} log lines …`);
  await using rig = await Rig.create();
  // More than one part may log by default: nothing is to be dropped.
  await rig.startCloud(["--log-rate", "1048576"]);
  const session = await signIn(rig.cloudUrl, {
    type: "robot-secret",
    id: rig.partId,
    key: rig.bootstrapped.part_secret,
  });
  using grpc = new GrpcClient(rig.cloudUrl, session.accessToken);
  const robot = grpc.client(RobotService);
  const send = (batch: number) => robot.log({ id: rig.partId, logs: makeBatch(batch) });
  for (let batch = 0; batch < 50; batch++) await send(-batch - 1);

  const started = performance.now();
  let next = 0;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (next < BATCHES) await send(next++);
  }));
  const seconds = (performance.now() - started) / 1000;
  reporter.report("log_ingest", BATCH * BATCHES / seconds, "lines/s");
}

function makeBatch(batch: number): LogEntry[] {
  return Array.from({ length: BATCH }, (_, n) =>
    create(LogEntrySchema, {
      host: "bench",
      level: n % 10 === 0 ? "warn" : "info",
      time: timestampNow(),
      loggerName: "rdk.resource_manager.rdk:component:sensor/host",
      message: `reading ${batch * BATCH + n} took longer than the one before`,
      caller: { Defined: true, File: "server/resources/graph/manager.ts", Line: 120, Function: "" },
    }));
}

import { createClient } from "@connectrpc/connect";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import {
  DataSyncService,
  DataType,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { startCloud } from "../../serve/cloud.ts";

const CAPTURED_MS = Date.UTC(2026, 0, 1);

/**
 * For tests: serves a data folder while its machine comes online and syncs a reading, as it does
 * again after every crash of the cloud, until no notification waits any more.
 */
export async function runCloudOnce(
  dataDir: string,
  machine: { readonly partId: string; readonly secret: string },
): Promise<void> {
  const log = memoryLogger("machine-cloud");
  // Opening writes, for which it could not wait for a transaction of the cloud in this process.
  const { database } = await openDataFolder(dataDir, systemRandom);
  const cloud = await startCloud({
    dataDir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
    notifications: { allowPrivateWebhooks: true },
  }, { clock: systemClock, random: systemRandom, log });
  const { partId, secret } = machine;
  const connection = CloudConnection.open({
    appAddress: cloud.url,
    credentials: { type: "robot-secret", entity: partId, payload: new Secret(secret) },
    allowInsecure: false,
    log,
  });
  await createClient(RobotService, connection.transport).config({ id: partId });
  const time = timestampFromMs(CAPTURED_MS);
  await createClient(DataSyncService, connection.transport).dataCaptureUpload({
    metadata: {
      partId,
      componentType: "rdk:component:sensor",
      componentName: "host",
      methodName: "Readings",
      type: DataType.TABULAR_SENSOR,
    },
    sensorContents: [{
      metadata: { timeRequested: time, timeReceived: time },
      data: { case: "struct", value: { readings: { cpu: 50 } } },
    }],
  });
  const isOver = async () => {
    const rows = await database.queries.selectFrom("deliveries").select("state").execute();
    return rows.length === 2 && rows.every(({ state }) => state !== "pending");
  };
  await waitFor(isOver, { deadlineMs: 60_000, what: "the end of all deliveries", everyMs: 20 });
  await database.close();
  connection.close();
  await cloud.close({ graceMs: 1_000 });
}

import type { JsonObject } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  DataSyncService,
  DataType,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { TriggerService } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { FakeReceiver } from "../delivery/fake_receiver.ts";
import type { LogLine } from "../../fleet/logs/log_line.ts";
import type { NotificationSettings } from "../../serve/notifications.ts";
import { apiKey, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

/** What one upload holds; left out: a reading of the sensor `host`. */
export interface TestUpload {
  readonly type?: DataType;
  readonly component?: string;
  readonly api?: string;
  readonly method?: string;
  /** One object for each reading. */
  readonly readings?: readonly JsonObject[];
  readonly binary?: Uint8Array<ArrayBuffer>;
  readonly capturedAt?: Date;
}

/** A cloud with one machine that syncs data. For tests. */
export class TriggerRig implements AsyncDisposable {
  private constructor(readonly cloud: TestCloud, readonly made: BootstrapResult) {}

  static async open(
    triggers: readonly JsonObject[],
    options: { clock?: Clock; settings?: NotificationSettings } = {},
  ): Promise<TriggerRig> {
    const { clock, settings } = options;
    const cloud = await TestCloud.open({
      ...(clock ? { clock } : {}),
      notifications: { allowPrivateWebhooks: true, ...settings },
    });
    const made = await cloud.bootstrap({ config: { triggers } });
    await cloud.services.notifications.load();
    return new TriggerRig(cloud, made);
  }

  get partId(): string {
    return this.made.part_id;
  }

  get calls() {
    return this.cloud.client(TriggerService, apiKey(this.made));
  }

  get deliverer() {
    return this.cloud.services.notifications.deliverer;
  }

  get queries() {
    return this.cloud.folder.database.queries;
  }

  /** Saves another configuration with these triggers. */
  async configure(triggers: readonly JsonObject[]): Promise<void> {
    await this.cloud.app(this.made).updateRobotPart({
      id: this.partId,
      name: "demo-main",
      robotConfig: { triggers: [...triggers] },
    });
  }

  /** Syncs data as the machine's server does; gives back the file's id. */
  async sync(upload: TestUpload = {}): Promise<string> {
    const sync = this.cloud.client(DataSyncService, partSecret(this.made));
    const time = timestampFromDate(upload.capturedAt ?? new Date());
    const metadata = { timeRequested: time, timeReceived: time };
    const readings = upload.readings ?? [{ readings: { cpu: 50 } }];
    const { fileId } = await sync.dataCaptureUpload({
      metadata: {
        partId: this.partId,
        componentType: upload.api ?? "rdk:component:sensor",
        componentName: upload.component ?? "host",
        methodName: upload.method ?? "Readings",
        type: upload.type ?? DataType.TABULAR_SENSOR,
      },
      sensorContents: upload.binary
        ? [{ metadata, data: { case: "binary" as const, value: upload.binary } }]
        : readings.map((reading, n) => ({
          metadata: { timeRequested: later(time, n), timeReceived: later(time, n) },
          data: { case: "struct" as const, value: reading },
        })),
    });
    return fileId;
  }

  /** Log lines of the machine, oldest first. */
  async logs(count = 1): Promise<LogLine[]> {
    const read = async () => {
      const page = await this.cloud.logs.read(this.partId, {
        filter: {},
        limit: 100,
        order: "oldest-first",
      });
      return page.lines.length >= count ? [...page.lines] : undefined;
    };
    return await waitFor(read, { deadlineMs: 60_000, what: `${count} log lines` });
  }

  /** Waits until nothing is under way: a clock that moves on would cut it. */
  async settled(): Promise<void> {
    const isSettled = async () => {
      const rows = await this.queries.selectFrom("deliveries").select("seq")
        .where("state", "=", "pending").where("attempts", "=", 0).execute();
      return rows.length === 0;
    };
    await waitFor(isSettled, { deadlineMs: 60_000, what: "the end of what is under way" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]();
  }
}

function later(time: Timestamp, seconds: number): Timestamp {
  return { ...time, seconds: time.seconds + BigInt(seconds) };
}

/** A notification by webhook. */
export const webhook = (receiver: FakeReceiver, more: JsonObject = {}) => ({
  type: "webhook",
  value: `${receiver.origin}/hook`,
  ...more,
});
/** An entry of `triggers`. */
export const trigger = (event: JsonObject, notifications: JsonObject[], more: JsonObject = {}) => ({
  name: "t",
  event,
  notifications,
  ...more,
});
export const dataEvent = (...types: string[]) => ({
  type: "part_data_ingested",
  data_ingested: { data_types: types },
});
export const when = (conditional: JsonObject = {}) => ({
  type: "conditional_data_ingested",
  conditional: { data_capture_method: "sensor:host:Readings", ...conditional },
});
export const evals = (operator: string, value: unknown) =>
  ({ conditions: { evals: [{ operator, value }] } }) as JsonObject;

/** Opens a cloud whose machine has one trigger, and a receiver for it. */
export async function withTrigger(
  make: (receiver: FakeReceiver) => JsonObject,
  test: (rig: TriggerRig, receiver: FakeReceiver) => Promise<void>,
  clock?: FakeClock,
): Promise<void> {
  await using receiver = FakeReceiver.start();
  await using rig = await TriggerRig.open([make(receiver)], clock ? { clock } : {});
  await test(rig, receiver);
}

/** The machine calls, and the cloud notes it, as it does each second. */
export async function come(rig: TriggerRig): Promise<void> {
  const { presence, notifications } = rig.cloud.services;
  presence.seen(rig.partId);
  await notifications.liveness.look();
}

/** The machine does not call any more, until the cloud has noted that. */
export async function go(rig: TriggerRig, clock: FakeClock): Promise<void> {
  await rig.settled();
  for (let seconds = 0; seconds < 60; seconds += 5) {
    await clock.advance(5_000);
    await rig.cloud.services.notifications.liveness.look();
  }
}

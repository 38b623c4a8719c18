import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../shared/time/clock.ts";
import type { IngestedData } from "../data/ingested.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { Notification, NotificationSender } from "../delivery/notification_sender.ts";
import { type FiredEvent, recordTest, type TriedRecipient } from "../delivery/outbox.ts";
import type { SigningSecrets } from "../delivery/signing_secrets.ts";
import type { Random } from "../keys/random.ts";
import { namedPart, recipientsOf } from "./firing.ts";
import { conditionBody, ingestedBody, type NamedPart, notificationHeaders } from "./messages.ts";
import type { RecentReading, RecentReadings } from "./recent_readings.ts";
import type { TriggerDefinition } from "./trigger_definition.ts";

export interface TrialsOptions {
  readonly queries: Queries;
  readonly sender: Pick<NotificationSender, "send">;
  readonly secrets: SigningSecrets;
  readonly recent: RecentReadings;
  readonly clock: Clock;
  readonly random: Random;
}

/** Receivers that are told at the same time. */
const AT_ONCE = 8;

/** Tries triggers out: their receivers get a sample, once, whatever their pace is. */
export class Trials {
  constructor(private readonly options: TrialsOptions) {}

  /** Gives back the ids of the notifications when all are over, whatever came of them. */
  async run(
    partId: string,
    trigger: TriggerDefinition,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { queries, secrets, clock, random, sender } = this.options;
    const part = await namedPart(queries, partId);
    if (!part) throw new ConnectError("the part is gone", Code.NotFound);
    const recipients = await recipientsOf(queries, part, trigger.notifications);
    if (recipients.length === 0) {
      throw new ConnectError(
        `nobody is told by trigger ${JSON.stringify(trigger.name)}: all_machine_owners has no ` +
          "address yet; set one with machine-cloud trigger owners",
        Code.FailedPrecondition,
      );
    }
    const event = await this.#sample(part, trigger);
    const secret = await secrets.generationOf(partId, trigger.name);
    const tried: TriedRecipient[] = [];
    const waiting = [...recipients];
    const work = async () => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        const id = `test_${random.uuid().replaceAll("-", "")}`;
        const startedAt = clock.now();
        const startedMs = clock.monotonicMs();
        const notification: Notification = { ...event, ...one, id, secret };
        const outcome = await sender.send(notification, signal);
        const durationMs = Math.round(clock.monotonicMs() - startedMs);
        tried.push({ ...one, id, startedAt, durationMs, outcome });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    await queries.transaction().execute((transaction) => recordTest(transaction, event, tried));
    return tried.map(({ id }) => id);
  }

  async #sample(part: NamedPart, trigger: TriggerDefinition): Promise<FiredEvent> {
    const at = this.options.clock.now();
    const { name, type, method } = trigger;
    const shared = {
      partId: part.partId,
      triggerName: name,
      triggerType: type,
      at,
      isTest: true,
      headers: notificationHeaders(type, part),
      evaluation: { test: true },
    };
    if (type === "part_online" || type === "part_offline") {
      return { ...shared, componentName: undefined, methodName: undefined, body: "" };
    }
    const [latest] = method ? await this.options.recent(part.partId, method, 1) : [];
    const data = sampleData(part, trigger, at, latest);
    const body = type === "part_data_ingested"
      ? ingestedBody(part, data)
      : conditionBody(part, data, trigger.conditionJson, data.readings[0]);
    return { ...shared, componentName: data.componentName, methodName: data.methodName, body };
  }
}

/** An upload as it might come; with the newest reading there is, or what the condition names. */
function sampleData(
  part: NamedPart,
  { method, dataTypes, condition }: TriggerDefinition,
  at: Date,
  latest: RecentReading | undefined,
): IngestedData {
  const [dataType = "tabular"] = dataTypes as ReadonlySet<IngestedData["dataType"]>;
  const readings: JsonObject = Object.fromEntries(
    condition.map(({ path = "value", expected }) => [path, expected]),
  );
  const reading = { requestedAt: at, receivedAt: at, data: latest?.data ?? { readings } };
  return {
    organizationId: part.organizationId,
    locationId: part.locationId,
    machineId: part.machineId,
    partId: part.partId,
    dataType,
    componentType: `rdk:component:${method?.type ?? "sensor"}`,
    componentName: method?.name ?? "sample",
    methodName: method?.method ?? "Readings",
    fileId: "sample",
    readings: dataType === "tabular" ? [reading] : [],
    minTimeReceived: at,
    maxTimeReceived: at,
    syncedAt: at,
    tags: [],
  };
}

import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { IngestedData } from "../../data/ingest/ingested.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DeliveryLog, LoggedDelivery } from "../delivery/delivery_log.ts";
import { type FiredEvent, postEvent } from "../delivery/outbox.ts";
import type { Random } from "../../storage/keys/random.ts";
import { namedPart, recipientsOf } from "./firing.ts";
import type { LogLine } from "../../fleet/logs/log_line.ts";
import { logFacts, type NamedPart, TRANSITION, uploadFacts } from "../events/facts.ts";
import type { RecentReading, RecentReadings } from "./recent_readings.ts";
import type { TriggerDefinition } from "./trigger_definition.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface TrialsOptions {
  readonly queries: Queries;
  readonly deliveries: Pick<DeliveryLog, "list">;
  readonly recent: RecentReadings;
  /** Something was committed that has to be sent. */
  readonly wake: () => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** What has no outcome by then is given back as it is. */
const WAIT_MS = 25_000;
const LOOK_EVERY_MS = 50;

/** Tries triggers out: their receivers get a sample, once, whatever their rate limit is. */
export class Trials {
  constructor(private readonly options: TrialsOptions) {}

  /** Gives back what came of it, for each receiver. Throws FAILED_PRECONDITION without any. */
  async run(
    partId: string,
    trigger: TriggerDefinition,
    signal: AbortSignal,
  ): Promise<LoggedDelivery[]> {
    const { queries, random, wake } = this.options;
    const part = await namedPart(queries, partId);
    if (!part) throw refusal("NOT_FOUND", { id: partId }, "the part was deleted", Code.NotFound);
    const recipients = await recipientsOf(queries, part, trigger.notifications);
    if (recipients.length === 0) {
      throw refusal(
        "TRIGGER_NOBODY",
        { name: trigger.name },
        `nobody is notified by trigger ${
          JSON.stringify(trigger.name)
        }: all_machine_owners has no ` +
          "address yet; set one with machine-cloud trigger owners",
        Code.FailedPrecondition,
      );
    }
    const event = await this.#sample(part, trigger);
    const ids = await queries.transaction().execute((transaction) =>
      postEvent(transaction, event, recipients, random)
    );
    wake();
    return await this.#outcomes(partId, ids, signal);
  }

  async #outcomes(
    partId: string,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<LoggedDelivery[]> {
    const { deliveries, clock } = this.options;
    const endMs = clock.monotonicMs() + WAIT_MS;
    for (;;) {
      const logged = await deliveries.list(partId, { ids, limit: ids.length });
      const isOver = logged.every(({ delivery }) => delivery.state !== "pending");
      if (isOver || clock.monotonicMs() >= endMs) return logged;
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
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
      evaluation: { test: true },
    };
    if (type === "part_online" || type === "part_offline") {
      const facts = { part, occurred: TRANSITION };
      return { ...shared, componentName: undefined, methodName: undefined, facts };
    }
    if (type === "conditional_logs_ingested") {
      const facts = { part, occurred: logFacts([sampleLine(trigger, at)]) };
      return { ...shared, componentName: undefined, methodName: undefined, facts };
    }
    const [latest] = method ? await this.options.recent(part.partId, method, 1) : [];
    const data = sampleData(part, trigger, at, latest);
    const [reading] = data.readings;
    const met = type === "conditional_data_ingested" && { condition: trigger.conditionJson };
    const facts = { part, occurred: uploadFacts(data, { reading, ...met }) };
    return { ...shared, componentName: data.componentName, methodName: data.methodName, facts };
  }
}

/** A line as it might be logged. */
function sampleLine({ logLevels }: TriggerDefinition, at: Date): LogLine {
  const [level = "error"] = logLevels;
  return {
    timeNs: BigInt(at.getTime()) * 1_000_000n,
    digest: 0,
    level,
    logger: "rdk.sample",
    message: "This is a sample.",
    host: "sample",
    caller: null,
    stack: null,
    fields: null,
  };
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

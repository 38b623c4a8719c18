import type { JsonValue } from "@bufbuild/protobuf";
import type { IngestedData, IngestedReading, IngestListener } from "../../data/ingest/ingested.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { LivenessState } from "../../storage/database/trigger_schema.ts";
import { evaluate, explain, REGEX_STEPS_PER_UPLOAD, type RegexBudget } from "./condition.ts";
import { addLook } from "./counts.ts";
import type { Firing, Occurrence } from "./firing.ts";
import { TRANSITION, uploadFacts } from "../events/facts.ts";
import type { PartTriggers } from "./part_triggers.ts";
import { isOfMethod, type TriggerDefinition } from "./trigger_definition.ts";

export interface TriggersOptions {
  readonly triggers: PartTriggers;
  readonly firing: Firing;
  /** Something was committed that may have to be sent. */
  readonly wake: () => void;
}

/** What a trigger says of an upload. */
interface Verdict {
  /** Why it fires; undefined: it does not. */
  readonly occurrence: Occurrence | undefined;
  readonly incomparable: number;
  readonly problem: string;
}

const SILENT: Verdict = { occurrence: undefined, incomparable: 0, problem: "" };

/**
 * Looks at all data that arrives and at all parts that come and go. What a trigger has to say is
 * written in the transaction that writes what happened: both are there, or neither is.
 */
export class Triggers implements IngestListener {
  constructor(private readonly options: TriggersOptions) {}

  async ingested(transaction: Queries, data: IngestedData): Promise<void> {
    const triggers = await this.options.triggers.of(transaction, data.partId);
    if (triggers.length === 0) return;
    const budget = { steps: REGEX_STEPS_PER_UPLOAD };
    for (const trigger of triggers) {
      const verdict = judge(trigger, data, budget);
      if (!verdict) continue;
      const { occurrence, incomparable, problem } = verdict;
      const fired = occurrence &&
        await this.options.firing.fire(transaction, data.partId, trigger, occurrence);
      const look = { at: data.syncedAt, fired, incomparable, problem };
      await addLook(transaction, data.partId, trigger.name, look);
    }
  }

  committed(): void {
    this.options.wake();
  }

  /** A part came or went. Call it in the transaction that notes so, and {@link committed} then. */
  async transition(
    transaction: Queries,
    partId: string,
    state: LivenessState,
    at: Date,
  ): Promise<void> {
    const type = state === "online" ? "part_online" : "part_offline";
    for (const trigger of await this.options.triggers.of(transaction, partId)) {
      if (trigger.type !== type) continue;
      const fired = await this.options.firing.fire(transaction, partId, trigger, {
        at,
        facts: () => TRANSITION,
        evaluation: () => ({ state, since: at.toISOString() }),
      });
      await addLook(transaction, partId, trigger.name, {
        at,
        fired,
        incomparable: 0,
        problem: "",
      });
    }
  }
}

/** Undefined: the trigger does not look at such data. */
function judge(
  trigger: TriggerDefinition,
  data: IngestedData,
  budget: RegexBudget,
): Verdict | undefined {
  switch (trigger.type) {
    case "part_online":
    case "part_offline":
    case "conditional_logs_ingested":
      return undefined;
    case "part_data_ingested":
      return trigger.dataTypes.has(data.dataType)
        ? { ...SILENT, occurrence: ofUpload(data) }
        : undefined;
    case "conditional_data_ingested": {
      const { method } = trigger;
      const { componentType, componentName, methodName } = data;
      return method && isOfMethod(method, componentType, componentName, methodName)
        ? judgeReadings(trigger, data, budget)
        : undefined;
    }
  }
}

/** The first reading that fulfils the condition decides. */
function judgeReadings(
  trigger: TriggerDefinition,
  data: IngestedData,
  budget: RegexBudget,
): Verdict {
  if (trigger.condition.length === 0) {
    return { ...SILENT, occurrence: ofReading(trigger, data, data.readings.at(-1)) };
  }
  if (data.readings.length === 0) {
    const problem = `data of type ${data.dataType} has nothing that could be compared`;
    return { ...SILENT, incomparable: 1, problem };
  }
  let incomparable = 0;
  let problem = "";
  for (const reading of data.readings) {
    const outcome = evaluate(trigger.condition, reading.data, budget);
    if (outcome.outcome === "holds") {
      return { occurrence: ofReading(trigger, data, reading), incomparable, problem };
    }
    if (outcome.outcome === "incomparable") {
      incomparable++;
      problem = outcome.problem;
    }
  }
  return { occurrence: undefined, incomparable, problem };
}

function ofUpload(data: IngestedData): Occurrence {
  return {
    ...about(data),
    facts: () => uploadFacts(data, { reading: data.readings.at(-1) }),
    evaluation: () => ({ data_type: data.dataType, readings: data.readings.length }),
  };
}

function ofReading(
  trigger: TriggerDefinition,
  data: IngestedData,
  reading: IngestedReading | undefined,
): Occurrence {
  return {
    ...about(data),
    facts: () => uploadFacts(data, { reading, condition: trigger.conditionJson }),
    evaluation: () => ({
      readings: data.readings.length,
      comparisons: reading ? explain(trigger.condition, reading.data) as unknown as JsonValue : [],
    }),
  };
}

function about(data: IngestedData) {
  return {
    at: data.syncedAt,
    componentName: data.componentName,
    methodName: data.methodName,
  };
}

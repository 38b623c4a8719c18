import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { isJsonObject } from "../../base/json/json.ts";
import {
  type Delivery,
  DeliveryState,
  type Trigger,
} from "../../gen/machine/cloud/v1/triggers_pb.ts";
import { textTable } from "../output/text_table.ts";

const STATES: Readonly<Record<DeliveryState, string>> = {
  [DeliveryState.UNSPECIFIED]: "-",
  [DeliveryState.PENDING]: "waiting",
  [DeliveryState.DELIVERED]: "delivered",
  [DeliveryState.FAILED]: "failed",
};

/** A line for each trigger, or the command to add one by when there is none, and one for each that has a problem. */
export function triggerTable(triggers: readonly Trigger[], toAdd: string): string {
  if (triggers.length === 0) return `no triggers; add one with ${toAdd}\n`;
  const rows = triggers.map((trigger) => {
    const { name, machineName, counts, waiting, disabled, problem } = trigger;
    const state = disabled ? "disabled" : problem === "" ? "on" : "see below";
    const numbers = [counts?.syncs, counts?.fired, counts?.incomparable, counts?.suppressed];
    return [
      name,
      machineName,
      eventType(trigger),
      state,
      ...[...numbers, waiting].map((number) => String(number ?? 0)),
      timeText(counts?.lastFiredAt),
    ];
  });
  const heading = ["TRIGGER", "MACHINE", "EVENT", "STATE", "EVALUATED", "FIRED"];
  const more = ["INCOMPARABLE", "TOO SOON", "WAITING", "LAST FIRED"];
  const problems = triggers.flatMap(({ name, machineName, problem, counts }) =>
    [problem, counts?.lastProblem ?? ""].filter((text) => text !== "")
      .map((text) => `${name} of ${machineName}: ${text}\n`)
  );
  return textTable([[...heading, ...more], ...rows]) + problems.join("");
}

/** A line for each notification, newest first. */
export function deliveryTable(deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return "no notifications yet\n";
  const rows = deliveries.map((one) => [
    one.id,
    timeText(one.createdAt),
    one.test ? "test" : one.triggerType,
    one.target,
    STATES[one.state],
    String(one.attempts.length),
    lastOutcome(one),
  ]);
  const heading = ["ID", "TIME", "EVENT", "RECEIVER", "STATE", "ATTEMPTS", "LAST ANSWER"];
  return textTable([heading, ...rows]);
}

/** What came of a test. */
export function testTable(deliveries: readonly Delivery[]): string {
  const rows = deliveries.map((one) => [one.target, STATES[one.state], lastOutcome(one)]);
  const hint = deliveries.some(({ state }) => state === DeliveryState.PENDING)
    ? "What still waits is sent by machine-cloud serve; is it running?\n"
    : "";
  return textTable([["RECEIVER", "STATE", "ANSWER"], ...rows]) + hint;
}

/** Which receivers did not take the sample, and why; undefined: none was lost. */
export function testFailure(deliveries: readonly Delivery[]): string | undefined {
  const failed = deliveries.filter(({ state }) => state === DeliveryState.FAILED);
  if (failed.length === 0) return undefined;
  return `not delivered to ${failed.map((one) => `${one.target}: ${lastOutcome(one)}`).join("; ")}`;
}

function lastOutcome({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (!last) return "-";
  if (last.error !== "") return last.error;
  return `${last.statusCode} in ${last.durationMs} ms`;
}

function eventType({ config }: Trigger): string {
  const event = config?.["event"];
  const type = isJsonObject(event) ? event["type"] : undefined;
  return typeof type === "string" ? type : "-";
}

function timeText(time: Timestamp | undefined): string {
  return time ? timestampDate(time).toJSON().slice(0, 19) : "-";
}

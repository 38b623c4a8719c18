import { fromJson } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import {
  AttributeError,
  type Attributes,
  attributes,
  type Check,
  converted,
  integer,
  objectOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";

export interface ReplayAttributes {
  source: string;
  robot_id: string;
  location_id: string;
  organization_id: string;
  interval: ReplayInterval | undefined;
  batch_size: number | undefined;
  api_key: Secret;
  api_key_id: string;
}

export interface ReplayInterval {
  start: Timestamp | undefined;
  end: Timestamp | undefined;
}

/** How much one request brings. */
export interface BatchSizes {
  readonly usual: number;
  readonly most: number;
}

/**
 * The attributes of every model that plays captured data back.
 *
 * @param what what a batch is counted in: "readings of each kind".
 */
export function replayAttributes(what: string, sizes: BatchSizes): Attributes<ReplayAttributes> {
  return attributes<ReplayAttributes>({
    source: text("Name of the resource whose data was captured."),
    robot_id: text("Id of the machine that captured it."),
    location_id: text("Id of the location it was captured in."),
    organization_id: text("Id of the organisation that the data belongs to."),
    interval: optional(objectOf<ReplayInterval>({
      start: optional(time("What was captured before is left out. Default: the first data.")),
      end: optional(time("What was captured then or later is left out. Default: the last data.")),
    }, "Which data is played. Default: all.")),
    batch_size: optional(integer(
      `How many ${what} one request to the cloud brings. Default ${sizes.usual}.`,
      { min: 1, max: sizes.most },
    )),
    api_key: converted(
      text("The key that belongs to api_key_id. It is never logged."),
      "an API key",
      (key) => new Secret(key),
    ),
    api_key_id: text("Id of an API key of the cloud that may read the data."),
  });
}

/** @throws {AttributeError} when the interval ends before it begins. */
export function checkInterval({ interval }: ReplayAttributes): void {
  const { start, end } = interval ?? {};
  if (!start || !end || timestampMs(start) < timestampMs(end)) return;
  throw new AttributeError("attributes.interval", "an end that is not after the start", "a span");
}

function time(description: string): Check<Timestamp> {
  return converted(
    text(description),
    'a time with its zone, for example "2026-01-02T12:00:00Z"',
    (written) => {
      try {
        return fromJson(TimestampSchema, written);
      } catch {
        return undefined; // the caller says what is allowed
      }
    },
  );
}

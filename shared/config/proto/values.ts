/** Small values between JSON and messages: durations, structs, credential types, log levels. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import { isJsonObject } from "../../base/json/json.ts";
import { CredentialsType } from "../../gen/viam/app/v1/robot_pb.ts";
import { formatGoDuration, parseGoDuration } from "../../base/time/duration.ts";

const NS_PER_MS = 1_000_000;
const NS_PER_SECOND = 1_000_000_000n;
const MS_PER_SECOND = 1000;

/**
 * A duration message of a Go duration text.
 *
 * @throws {DurationError} when it is no duration; checks have left such entries out
 */
export function toDuration(text: string | undefined): Duration | undefined {
  return text === undefined || text === "" ? undefined : durationOfMs(parseGoDuration(text));
}

/** A duration message of milliseconds, to the nanosecond. */
export function durationOfMs(ms: number): Duration {
  const ns = BigInt(Math.round(ms * NS_PER_MS));
  return create(DurationSchema, { seconds: ns / NS_PER_SECOND, nanos: Number(ns % NS_PER_SECOND) });
}

/** The Go text of a duration message; undefined when there is none. */
export function fromDuration(duration: Duration | undefined): string | undefined {
  if (duration === undefined) return undefined;
  return formatGoDuration(
    Number(duration.seconds) * MS_PER_SECOND + duration.nanos / NS_PER_MS,
  );
}

/** A free-form object for a Struct field; what came from JSON is JSON. */
export function toStruct(
  value: Readonly<Record<string, unknown>> | undefined,
): JsonObject | undefined {
  return value as JsonObject | undefined;
}

const CREDENTIALS: ReadonlyMap<string, CredentialsType> = new Map([
  ["internal", CredentialsType.INTERNAL],
  ["api-key", CredentialsType.API_KEY],
  ["robot-secret", CredentialsType.ROBOT_SECRET],
  ["robot-location-secret", CredentialsType.ROBOT_LOCATION_SECRET],
]);

/** The enum value of a credential type's name; UNSPECIFIED for one it does not have. */
export function toCredentialsType(name: string): CredentialsType {
  return CREDENTIALS.get(name) ?? CredentialsType.UNSPECIFIED;
}

/** The name of a credential type; empty for UNSPECIFIED. */
export function fromCredentialsType(type: CredentialsType): string {
  for (const [name, value] of CREDENTIALS) if (value === type) return name;
  return "";
}

/** The entries of an object that say something: no undefined, empty text, false, 0, empty list. */
export function compact<T extends object>(values: T): Compact<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => {
      if (value === undefined || value === "" || value === false || value === 0) return false;
      if (Array.isArray(value)) return value.length > 0;
      return !(isJsonObject(value) && Object.keys(value).length === 0);
    }),
  ) as Compact<T>;
}

/** Every key may be missing, none is undefined. */
export type Compact<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** From the name of a method to what is asked of the driver, and what of the answer is kept. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { isJsonObject } from "../../shared/base/json/json.ts";
import { readingsOf } from "../resources/readings/readings_of.ts";
import { driverMethod } from "../resources/graph/driver.ts";
import type { CallContext, Resource } from "../resources/graph/resource.ts";

/** One binary that a driver answered with. */
export interface Binary {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

/** What one call of a driver brought. */
export type Sample = JsonObject | readonly Binary[];

/** A method of one resource, ready to be called again and again. */
export interface CapturedMethod {
  readonly isBinary: boolean;
  /** Asks the driver. Synchronous where the driver is. */
  read(resource: Resource, call: CallContext): Sample | Promise<Sample>;
}

/** Names of methods in data that are not those of the service, without `Get`. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  "rdk:component:board Analogs": "ReadAnalogReader",
  "rdk:component:board Gpios": "GetGPIO",
  "rdk:component:camera NextPointCloud": "GetPointCloud",
  "rdk:component:camera ReadImage": "GetImages",
  "rdk:component:encoder TicksCount": "GetPosition",
};

/** Parameters whose names are not those of the request's fields. */
const OTHER_PARAMETERS: Readonly<Record<string, string>> = {
  reader_name: "analog_reader_name",
  pin_name: "pin",
  docommand_input: "command",
};

/** Notifies drivers that nobody asked but the data manager. */
const EXTRA: JsonObject = { fromDataManagement: true };

/**
 * Finds a method: `Readings`, `GetReadings`, or the name that data has for it (`NextPointCloud`).
 *
 * @throws {Error} when the API has no such unary method, or the parameters do not fit.
 */
export function capturedMethod(
  service: DescService,
  { api, name, method, parameters }: {
    readonly api: string;
    readonly name: string;
    readonly method: string;
    readonly parameters: JsonObject;
  },
): CapturedMethod {
  const unary = findMethod(service, api, method);
  const request = requestOf(unary, name, parameters);
  switch (unary.name) {
    case "GetReadings":
      return tabular((resource, call) => readingsSample(api, name, resource, request, call));
    case "DoCommand":
      return tabular(async (resource, call) => {
        if (!resource.doCommand) throw notSupported(unary);
        const { command } = request as { command?: JsonObject };
        return { docommand_output: await resource.doCommand(command ?? {}, call) };
      });
    case "GetStatus":
      return tabular(async (resource, call) => ({ ...await resource.getStatus?.(call) }));
    case "GetGeometries":
      return tabular(async (resource, call) =>
        plain(unary.output, { geometries: await resource.getGeometries?.(call) ?? [] })
      );
  }
  const ask = async (resource: Resource, call: CallContext): Promise<Record<string, unknown>> => {
    const found = driverMethod(resource, unary.localName);
    if (!found) throw notSupported(unary);
    return (await found.call(resource, request, call) ?? {}) as Record<string, unknown>;
  };
  const binaries = binariesOf(unary);
  if (binaries) {
    return {
      isBinary: true,
      read: async (resource, call) => {
        const found = binaries(await ask(resource, call)).filter(({ bytes }) => bytes.length > 0);
        // The older method is for one image.
        return method === "ReadImage" ? found.slice(0, 1) : found;
      },
    };
  }
  return tabular(async (resource, call) => plain(unary.output, await ask(resource, call)));
}

function tabular(read: CapturedMethod["read"]): CapturedMethod {
  return { isBinary: false, read };
}

function readingsSample(
  api: string,
  name: string,
  resource: Resource,
  request: object,
  call: CallContext,
): Sample | Promise<Sample> {
  const { extra } = request as { extra?: JsonObject };
  const readings = readingsOf(api, name, resource, extra, call);
  if (!readings) throw new Error("it has no readings");
  // A driver that answers at once is not made to wait.
  if (readings instanceof Promise) return readings.then((read) => ({ readings: read }));
  return { readings };
}

function findMethod(service: DescService, api: string, written: string): DescMethodUnary {
  const names = [OTHER_NAMES[`${api} ${written}`], written, `Get${written}`];
  for (const name of names) {
    const found = service.methods.find((one) => one.name === name);
    if (found && isUnary(found)) return found;
  }
  const known = service.methods.filter(isUnary).map((one) => one.name).join(", ");
  throw new Error(`${api} has no method ${written} that answers once; it has ${known}`);
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function requestOf(method: DescMethodUnary, name: string, parameters: JsonObject): Message {
  const fields: Record<string, JsonValue> = {};
  const nameField = ["name", "board_name", "controller"]
    .find((field) => method.input.fields.some((one) => one.name === field));
  if (nameField) fields[nameField] = name;
  if (method.input.fields.some((field) => field.name === "extra")) fields["extra"] = EXTRA;
  for (const [key, value] of Object.entries(parameters)) {
    const field = OTHER_PARAMETERS[key] ?? key;
    const known = method.input.fields.find((one) =>
      one.name === field || one.jsonName === field || one.localName === field
    );
    // What a method does not take describes the data and goes with it.
    if (known) fields[known.name] = extended(known.name, value);
  }
  try {
    return fromJson(method.input, fields);
  } catch (error) {
    throw new Error(
      `the parameters do not fit ${method.name}: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

function extended(field: string, value: JsonValue): JsonValue {
  return field === "extra" && isJsonObject(value) ? { ...value, ...EXTRA } : value;
}

/** How to take bytes out of a method's answers; undefined when there are none in them. */
function binariesOf(
  { output, name }: DescMethodUnary,
): ((answer: Record<string, unknown>) => Binary[]) | undefined {
  if (name === "GetImages") {
    return ({ images = [] }) =>
      (images as { image?: Uint8Array; mimeType?: string }[]).map(({ image, mimeType = "" }) => ({
        bytes: image ?? new Uint8Array(),
        mimeType,
      }));
  }
  const field = output.fields.find((one) => one.fieldKind === "scalar" && one.scalar === 12);
  return field && ((answer) => [{
    bytes: answer[field.localName] as Uint8Array | undefined ?? new Uint8Array(),
    mimeType: String(answer["mimeType"] ?? ""),
  }]);
}

/** An answer as JSON with the names of the protocol; values that are 0 or false are in it. */
function plain(output: DescMessage, answer: object): JsonObject {
  const message = create(output, answer as MessageInitShape<DescMessage>);
  const json = toJson(output, message, { alwaysEmitImplicit: true, useProtoFieldName: true });
  return isJsonObject(json) ? json : { value: json };
}

function notSupported({ name }: DescMethodUnary): Error {
  return new Error(`it does not support ${name}`);
}

/** What the configuration specifies of one captured method. Pure. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toError } from "../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../shared/base/json/json.ts";
import {
  anyObject,
  boolean,
  type Check,
  integer,
  listOf,
  number,
  objectOf,
  optional,
  text,
} from "../resources/graph/attributes.ts";
import type { ResourceSpec } from "../resources/graph/target.ts";

/** Rates that can be requested. Hertz. */
export const RATES = { min: 0.001, max: 1_000 };

/** One entry of `capture_methods`, with the resource it stands at. */
export interface CaptureSettings {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** Short name of the resource. */
  readonly name: string;
  /** As written: `Readings`, `GetReadings`. */
  readonly method: string;
  /** 0: switched off. */
  readonly frequencyHz: number;
  readonly parameters: JsonObject;
  readonly tags: readonly string[];
  /** Those of the service are left out. */
  readonly hasOnlyTags: boolean;
  /** In place of the service's folder. */
  readonly folder: string | undefined;
}

interface CaptureMethodAttributes {
  name: string | undefined;
  method: string;
  capture_frequency_hz: number;
  additional_params: JsonObject | undefined;
  disabled: boolean | undefined;
  tags: string[] | undefined;
  capture_directory: string | undefined;
  capture_queue_size: number | undefined;
  capture_buffer_size: number | undefined;
}

const captureMethod: Check<CaptureMethodAttributes> = objectOf<CaptureMethodAttributes>({
  // The entry stands at its resource, whatever name it gives.
  name: optional(text("Has no effect here.")),
  method: text("Method to capture."),
  // 0 switches off, as `disabled` does.
  capture_frequency_hz: number("Readings a second.", { min: 0, max: RATES.max, clamp: true }),
  additional_params: optional(anyObject("Parameters of the method.")),
  disabled: optional(boolean("True: not captured.")),
  tags: optional(
    listOf(text("A tag."), "Tags of what is captured, in addition to those of the service."),
  ),
  capture_directory: optional(text("Folder in place of the service's.")),
  // Readings go into the file at once here; both are read so that they are known.
  capture_queue_size: optional(integer("Has no effect here.")),
  capture_buffer_size: optional(integer("Has no effect here.")),
}, "A captured method.");

const TYPES: ReadonlySet<string> = new Set(["rdk:service:data_manager", "data_manager"]);

/**
 * The methods that a configuration names, those too that are switched off. What is wrong is left
 * out and passed to `warn`.
 *
 * @param place from a folder as it is written to where it is; throws when it must not be used
 */
export function captureSettings(
  specs: readonly ResourceSpec[],
  place: (folder: string) => string,
  warn: (message: string) => void,
): CaptureSettings[] {
  const wanted = new Map<string, CaptureSettings>();
  for (const { api, name, extra } of specs) {
    for (const [path, entry] of captureEntries(extra?.["service_configs"])) {
      const where = `${api}/${name}: ${path}`;
      try {
        const one = { api, name, ...parseEntry(entry, where, place, warn) };
        const key = captureKey(one);
        const known = wanted.get(key);
        if (!known || known.frequencyHz === 0) wanted.set(key, one);
        else if (one.frequencyHz > 0) {
          warn(`${where}: the same method is captured twice; the first counts`);
        }
      } catch (error) {
        warn(`${toError(error).message}; it is not captured`);
      }
    }
  }
  return [...wanted.values()];
}

/** Two entries with the same key capture the same. */
export function captureKey(
  { api, name, method, parameters }: Pick<
    CaptureSettings,
    "api" | "name" | "method" | "parameters"
  >,
): string {
  return JSON.stringify([api, name, method, parameters]);
}

function* captureEntries(configs: JsonValue | undefined): Generator<[string, JsonValue]> {
  if (!Array.isArray(configs)) return;
  for (const config of configs) {
    if (!isJsonObject(config) || !TYPES.has(String(config["type"]))) continue;
    const attributes = config["attributes"];
    const methods = isJsonObject(attributes) ? attributes["capture_methods"] : undefined;
    if (!Array.isArray(methods)) continue;
    for (const [index, entry] of methods.entries()) yield [`capture_methods[${index}]`, entry];
  }
}

function parseEntry(
  entry: JsonValue,
  where: string,
  place: (folder: string) => string,
  warn: (message: string) => void,
) {
  const parsed = captureMethod.parse(entry, where, warn);
  const frequencyHz = parsed.disabled ? 0 : parsed.capture_frequency_hz;
  if (frequencyHz > 0 && frequencyHz < RATES.min) {
    throw new Error(
      `${where}.capture_frequency_hz: found ${frequencyHz}, allowed: 0, or from ` +
        `${RATES.min} to ${RATES.max}`,
    );
  }
  return {
    method: parsed.method,
    frequencyHz,
    parameters: parsed.additional_params ?? {},
    tags: parsed.tags ?? [],
    hasOnlyTags: false,
    folder: parsed.capture_directory === undefined ? undefined : place(parsed.capture_directory),
  };
}

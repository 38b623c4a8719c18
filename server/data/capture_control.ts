/** What the control sensor wants captured. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import { toError } from "../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../shared/base/json/json.ts";
import {
  type Check,
  listOf,
  number,
  objectOf,
  optional,
  text,
} from "../resources/graph/attributes.ts";
import type { ResourceSpec } from "../resources/graph/target.ts";
import { type CaptureSettings, RATES } from "./capture_settings.ts";

/** One method, captured otherwise than the configuration has it. */
export interface CaptureOverride {
  readonly resource_name: string;
  readonly method: string;
  /** 0: not captured; undefined: as configured. */
  readonly capture_frequency_hz: number | undefined;
  /** In place of all tags; undefined: as configured. */
  readonly tags: string[] | undefined;
}

/** What a reading of the control sensor requests: all or nothing, or so for some methods. */
export type CaptureControl = boolean | readonly CaptureOverride[];

const captureOverride: Check<CaptureOverride> = objectOf<CaptureOverride>({
  resource_name: text("Name of the resource."),
  method: text("Method to capture."),
  capture_frequency_hz: optional(number("Readings a second.", { min: 0, max: RATES.max })),
  tags: optional(listOf(text("A tag."), "Tags in place of all others.")),
}, "An override.");

/**
 * Understands the reading: true, false, or a list of overrides. An entry that is wrong is left out
 * and passed to `warn`.
 *
 * @throws {Error} when it is something else
 */
export function parseCaptureControl(
  value: JsonValue | undefined,
  where: string,
  warn: (message: string) => void,
): CaptureControl {
  if (typeof value === "boolean") return value;
  if (!Array.isArray(value)) {
    const found = value === undefined ? "nothing" : JSON.stringify(value);
    throw new Error(`${where}: found ${found}, allowed: true, false, or a list of overrides`);
  }
  return value.flatMap((entry, index) => {
    const path = `${where}[${index}]`;
    try {
      const parsed = captureOverride.parse(withoutNulls(entry), path);
      const { capture_frequency_hz: hz = 0 } = parsed;
      if (hz > 0 && hz < RATES.min) {
        throw new Error(
          `${path}.capture_frequency_hz: found ${hz}, allowed: 0, or from ` +
            `${RATES.min} to ${RATES.max}`,
        );
      }
      return [parsed];
    } catch (error) {
      warn(`${toError(error).message}; the override is left out`);
      return [];
    }
  });
}

/**
 * What is captured in the end. A method that is not configured is captured when an override says
 * how often, without parameters and in the service's folder.
 *
 * @param configured those that are switched off too
 */
export function controlledSettings(
  configured: readonly CaptureSettings[],
  control: CaptureControl,
  specs: readonly ResourceSpec[],
  warn: (message: string) => void,
): CaptureSettings[] {
  if (typeof control === "boolean") return control ? [...configured] : [];
  const settings = [...configured];
  for (const override of control) {
    const found = settings.map((one, index) => ({ one, index }))
      .filter(({ one }) => isOf(one, override) && sameMethod(one.method, override.method));
    for (const { one, index } of found) settings[index] = overridden(one, override);
    if (found.length > 0) continue;
    const name = `${override.method} of ${override.resource_name}`;
    const spec = specs.find((one) => isOf(one, override));
    if (!spec) warn(`the control sensor wants ${name} captured, and there is no such resource`);
    else if (override.capture_frequency_hz === undefined) {
      warn(
        `the control sensor does not report how often ${name} is captured, nor is it configured`,
      );
    } else settings.push(overridden(unconfigured(spec, override.method), override));
  }
  return settings;
}

function overridden(settings: CaptureSettings, override: CaptureOverride): CaptureSettings {
  const { capture_frequency_hz: frequencyHz = settings.frequencyHz, tags } = override;
  return { ...settings, frequencyHz, ...(tags && { tags, hasOnlyTags: true }) };
}

function unconfigured({ api, name }: ResourceSpec, method: string): CaptureSettings {
  return {
    api,
    name,
    method,
    frequencyHz: 0,
    parameters: {},
    tags: [],
    hasOnlyTags: false,
    folder: undefined,
  };
}

/** By short or full name. */
function isOf(
  { api, name }: { readonly api: string; readonly name: string },
  { resource_name: wanted }: CaptureOverride,
): boolean {
  return wanted === name || wanted === `${api}/${name}`;
}

function sameMethod(one: string, other: string): boolean {
  return one.replace(/^Get/, "") === other.replace(/^Get/, "");
}

/** Sensors in some languages give what they don't know as null. */
function withoutNulls(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return entry;
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}

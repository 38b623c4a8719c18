import { parseLevel } from "../../log/level.ts";
import { LEVELS } from "../../log/logger.ts";
import { LONGEST_RESOURCE_NAME } from "../forms.ts";
import { type Path, problemAt, type Report } from "../problem.ts";
import { parseApiTriplet, parseModelTriplet } from "../resource_name.ts";
import type { Frame, Geometry, Orientation, ResourceConfig } from "../resources.ts";
import { checkName } from "./names.ts";

/** Checks a component or service whose API and model are filled in, each for itself. */
export function checkResource(resource: ResourceConfig, path: Path, report: Report): void {
  checkName(resource.name, [...path, "name"], report, { longest: LONGEST_RESOURCE_NAME });
  checkApi(resource, path, report);
  checkModel(resource, path, report);
  checkLogLevel(resource.log_configuration?.level, [...path, "log_configuration", "level"], report);
  if (resource.frame) checkFrame(resource.frame, [...path, "frame"], report);
  resource.depends_on?.forEach((name, at) => {
    if (name === "") {
      report(problemAt([...path, "depends_on", at], name, "the name is empty", "a resource name"));
    }
  });
}

function checkApi(resource: ResourceConfig, path: Path, report: Report): void {
  const allowed = "namespace:type:subtype, for example rdk:component:sensor";
  if (resource.api === "") {
    report(problemAt([...path, "api"], undefined, "the API is missing", allowed));
    return;
  }
  if (!parses(parseApiTriplet, resource.api)) {
    report(problemAt([...path, "api"], resource.api, "this is not an API", allowed));
  }
}

function checkModel(resource: ResourceConfig, path: Path, report: Report): void {
  const allowed = "namespace:family:name, or one word for a built-in model, for example fake";
  if (resource.model === "") {
    report(problemAt([...path, "model"], undefined, "the model is missing", allowed));
  } else if (!parses(parseModelTriplet, resource.model)) {
    report(problemAt([...path, "model"], resource.model, "this is not a model", allowed));
  }
}

/** Checks a log level, when there is one. */
export function checkLogLevel(level: string | undefined, path: Path, report: Report): void {
  if (level === undefined || level === "" || parseLevel(level) !== undefined) return;
  report(problemAt(path, level, "this is not a log level", LEVELS.join(", ")));
}

/** Checks the numbers of a frame. */
export function checkFrame(frame: Frame, path: Path, report: Report): void {
  if (frame.orientation) checkOrientation(frame.orientation, [...path, "orientation"], report);
  if (frame.geometry) checkGeometry(frame.geometry, [...path, "geometry"], report);
}

function checkOrientation(orientation: Orientation, path: Path, report: Report): void {
  const { type = "", value } = orientation;
  if (type === "") return;
  const at = [...path, "value"];
  if (value === undefined) {
    report(problemAt(at, value, `an orientation of type ${type} needs its numbers`));
  } else if (type.startsWith("ov_")) {
    const numbers = Object.entries(value).map(([key, number]) => [key.toLowerCase(), number]);
    if (!numbers.some(([key, number]) => ["x", "y", "z"].includes(String(key)) && number !== 0)) {
      report(
        problemAt(
          at,
          value,
          "x, y and z of the orientation vector are all 0",
          "a direction, for example z: 1",
        ),
      );
    }
  }
}

function checkGeometry(geometry: Geometry, path: Path, report: Report): void {
  for (const key of ["x", "y", "z", "r", "l"] as const) {
    const size = geometry[key];
    if (size !== undefined && size < 0) {
      report(problemAt([...path, key], size, "the size is negative", "millimetres, 0 or more"));
    }
  }
  if (geometry.orientation) {
    checkOrientation(geometry.orientation, [...path, "orientation"], report);
  }
}

function parses(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  formatResourceName,
  formatShortName,
  parseApiTriplet,
  parseModelTriplet,
  parseResourceName,
  resourceName,
  ResourceNameError,
  resourceNameFromProto,
  resourceNameToProto,
} from "./resource_name.ts";

const SENSOR = { namespace: "rdk", type: "component", subtype: "sensor" };

Deno.test("parseResourceName() and formatResourceName() are inverse", () => {
  const cases = [
    { text: "rdk:component:sensor/host", remote: "", name: "host" },
    { text: "rdk:component:sensor/a:b:host-1", remote: "a:b", name: "host-1" },
  ];
  for (const { text, remote, name } of cases) {
    const parsed = parseResourceName(text);
    deepStrictEqual(parsed, { api: SENSOR, remote, name });
    strictEqual(formatResourceName(parsed), text);
    deepStrictEqual(resourceNameFromProto(resourceNameToProto(parsed)), parsed);
  }
});

Deno.test("parseResourceName() throws and quotes the text when it is not a full name", () => {
  const bad = [
    "",
    "host",
    "sensor/host",
    "rdk:sensor/host",
    "rdk:component:sensor/",
    "rdk:component:sensor/a b",
    "rdk:component:sensor/:host",
    "rdk:component:sensor:x/host",
    "rdk:component:sensor/host/x",
    "rdk::sensor/host",
  ];
  for (const text of bad) {
    throws(
      () => parseResourceName(text),
      (error) => error instanceof ResourceNameError && error.message.includes(JSON.stringify(text)),
      text,
    );
  }
});

Deno.test("parseModelTriplet() reads one word as a built-in model", () => {
  const cases = [
    ["fake", "rdk:builtin:fake"],
    ["rdk:builtin:fake", "rdk:builtin:fake"],
    ["acme:demo:my_sensor-2", "acme:demo:my_sensor-2"],
  ] as const;
  for (const [text, full] of cases) {
    const { namespace, family, name } = parseModelTriplet(text);
    strictEqual(`${namespace}:${family}:${name}`, full);
  }
  for (const text of ["", "a:b", "a:b:c:d", "a::c", "a b", "a:b:c/d"]) {
    throws(() => parseModelTriplet(text), ResourceNameError, text);
  }
});

Deno.test("parseApiTriplet() reads exactly three words", () => {
  deepStrictEqual(parseApiTriplet("rdk:component:sensor"), SENSOR);
  for (const text of ["sensor", "rdk:sensor", "a:b:c:d", "::", ""]) {
    throws(() => parseApiTriplet(text), ResourceNameError, text);
  }
});

Deno.test("resourceName() splits remotes off a short name", () => {
  const name = resourceName("rdk:component:sensor", "far:host");
  deepStrictEqual(name, { api: SENSOR, remote: "far", name: "host" });
  strictEqual(formatShortName(name), "far:host");
  strictEqual(resourceNameToProto(name).name, "far:host");
});

import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  GetAccuracyRequestSchema,
  GetPositionRequestSchema,
  GetPropertiesRequestSchema,
  type MovementSensorService,
} from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { construct, testCall } from "../testing.ts";
import { mergedModel } from "./merged_model.ts";

type MovementSensor = Driver<typeof MovementSensorService>;

const full = (name: string) => `rdk:component:movement_sensor/${name}`;

function build(attributes: JsonObject, sensors: Record<string, Resource>): Promise<MovementSensor> {
  const dependencies = new Map(Object.entries(sensors).map(([name, it]) => [full(name), it]));
  return construct<MovementSensor, unknown>(mergedModel, attributes, { dependencies });
}

/** A sensor that shows that latitude. */
function gps(latitude: number, more: MovementSensor = {}): MovementSensor {
  return {
    getProperties: () => ({ positionSupported: true }),
    getPosition: () => ({ coordinate: { latitude, longitude: 0 }, altitudeM: 1 }),
    ...more,
  };
}

async function latitude(sensor: MovementSensor): Promise<number | undefined> {
  const request = create(GetPositionRequestSchema, { name: "x" });
  return (await sensor.getPosition!(request, testCall())).coordinate?.latitude;
}

const fails = (words: string) => () => Promise.reject(new Error(words));

Deno.test("mergedModel() depends on every sensor it names, once", () => {
  const { attributes } = mergedModel.attributes.parse({
    position: ["a", full("b")],
    orientation: ["a"],
  });
  assert.deepEqual(mergedModel.dependencies!(attributes), { required: ["a", full("b")] });
});

Deno.test("mergedModel() refuses attributes that name no sensor", () => {
  const { attributes } = mergedModel.attributes.parse({ position: [] });
  assert.throws(() => mergedModel.dependencies!(attributes), (error) => {
    assert(error instanceof AttributeError);
    assert.match(
      error.message,
      /^attributes: found no sensors, allowed: at least one of position,/,
    );
    return true;
  });
  assert.throws(
    () => mergedModel.attributes.parse({ position: "a" }),
    /attributes\.position: found "a", allowed: an array/,
  );
});

Deno.test("mergedModel() asks the first sensor that has the quantity", async () => {
  let asked = 0;
  const blind = gps(1, { getProperties: () => ({ orientationSupported: true }) });
  const third = gps(3, { getPosition: () => (asked++, {}) });
  const sensors = { a: blind, b: gps(2), c: third };
  const merged = await build({ position: ["a", full("b"), "c"] }, sensors);
  assert.equal(await latitude(merged), 2);
  assert.equal(asked, 0);
});

Deno.test("mergedModel() goes on to the next sensor while one fails", async () => {
  let works = false;
  const first = gps(1, {
    getPosition: () => {
      if (!works) throw new Error("no satellites");
      return { coordinate: { latitude: 1, longitude: 0 } };
    },
  });
  const silent = gps(5, { getProperties: fails("unplugged") });
  const merged = await build({ position: ["s", "a", "b"] }, { s: silent, a: first, b: gps(2) });
  assert.equal(await latitude(merged), 2);
  works = true;
  assert.equal(await latitude(merged), 1);
});

Deno.test("mergedModel() names every sensor and its error when none answers", async () => {
  const sensors = {
    a: gps(1, { getPosition: fails("no sky") }),
    b: gps(2, { getProperties: fails("gone") }),
  };
  const merged = await build({ position: ["a", "b"] }, sensors);
  await assert.rejects(latitude(merged), /no sensor reports the position: a: no sky; b: gone$/);
});

Deno.test("mergedModel() says UNIMPLEMENTED for what no sensor is named for or has", async () => {
  const unimplemented = (words: RegExp) => (error: unknown) => {
    assert(error instanceof ConnectError);
    assert.equal(error.code, Code.Unimplemented);
    return words.test(error.rawMessage);
  };
  const blind = gps(1, { getProperties: () => ({}) });
  await assert.rejects(
    latitude(await build({ orientation: ["a"] }, { a: gps(1) })),
    unimplemented(/its attributes name no sensor for position/),
  );
  await assert.rejects(
    latitude(await build({ position: ["a"] }, { a: blind })),
    unimplemented(/none of a has position/),
  );
});

Deno.test("mergedModel() has the properties that its sensors have for it", async () => {
  const all = { positionSupported: true, linearVelocitySupported: true };
  const sensors = {
    a: gps(1, { getProperties: () => all }),
    b: gps(2, { getProperties: fails("gone") }),
  };
  const merged = await build({ position: ["b", "a"], orientation: ["a", "b"] }, sensors);
  const properties = await merged.getProperties!(create(GetPropertiesRequestSchema), testCall());
  assert.deepEqual(properties, { positionSupported: true });
});

Deno.test("mergedModel() takes accuracies from the sensors that tell position and heading", async () => {
  const compass: MovementSensor = {
    getProperties: () => ({ compassHeadingSupported: true }),
    getAccuracy: () => ({ accuracy: { c: 2 }, compassDegreesError: 4, positionHdop: 99 }),
  };
  const place = gps(1, { getAccuracy: () => ({ accuracy: { p: 1 }, positionHdop: 0.5 }) });
  const merged = await build({ position: ["a"], compass_heading: ["c"] }, { a: place, c: compass });
  const accuracy = await merged.getAccuracy!(create(GetAccuracyRequestSchema), testCall());
  assert.deepEqual(accuracy, {
    accuracy: { c: 2, p: 1 },
    positionHdop: 0.5,
    compassDegreesError: 4,
  });
});

Deno.test("mergedModel() asks nobody further when the caller has left", async () => {
  const caller = new AbortController();
  const first = gps(1, {
    getPosition: () => {
      caller.abort(new Error("left"));
      throw new Error("aborted");
    },
  });
  const second = gps(2, { getPosition: () => assert.fail("it was asked") });
  const merged = await build({ position: ["a", "b"] }, { a: first, b: second });
  const request = create(GetPositionRequestSchema);
  await assert.rejects(
    async () => await merged.getPosition!(request, testCall(caller.signal)),
    /left/,
  );
});

Deno.test("mergedModel() refuses dependencies that are no movement sensors", async () => {
  const dependencies = new Map<string, Resource>([["rdk:component:sensor/a", {}]]);
  await assert.rejects(
    construct(mergedModel, { position: ["a"] }, { dependencies }),
    /a is no movement sensor; the attributes lead to rdk:component:sensor\/a/,
  );
});

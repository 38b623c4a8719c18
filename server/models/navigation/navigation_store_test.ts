import type { JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { NavigationStore } from "./navigation_store.ts";

const SPOT = { latitude: 52.1, longitude: 13.4 };
const CIRCLE = { type: "circle", center: SPOT, radius_m: 3 };
const KEPT = {
  version: 1,
  waypoints: [{ id: "a1", spot: { ...SPOT, heading: 90 } }],
  locations: [{ name: "dock", spot: SPOT }],
  routes: [{ name: "round", stops: [{ location: "dock" }, { spot: SPOT }] }],
  zones: [
    { name: "pond", type: "keepout", geometry: CIRCLE },
    { name: "yard", type: "speed_limit", geometry: CIRCLE, maxSpeed: 0.5 },
  ],
};

/** Opens a store over a file with this content. */
async function over(
  content: string | JsonValue,
  test: (
    opened: Promise<NavigationStore>,
    file: string,
    log: ReturnType<typeof memoryLogger>,
  ) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const file = join(folder, "nav.json");
    await Deno.writeTextFile(
      file,
      typeof content === "string" ? content : JSON.stringify(content),
    );
    const log = memoryLogger();
    await test(NavigationStore.open(file, log), file, log);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a file is read as it was written", () =>
  over(KEPT, async (opened, file, log) => {
    const { version: _, ...kept } = KEPT;
    assert.deepEqual((await opened).kept, kept);
    assert.deepEqual(log.entries, []);
    assert.deepEqual([...Deno.readDirSync(join(file, ".."))].map(({ name }) => name), ["nav.json"]);
  }));

Deno.test("entries that are wrong are left out, reported, and stay in a copy of the file", async () => {
  const content = {
    ...KEPT,
    waypoints: [{ id: "a1" }, { id: "a2", spot: SPOT }, null, { id: "", spot: SPOT }],
    locations: [
      { name: "dock", spot: { ...SPOT, latitude: "52" } },
      { name: "gate", spot: { ...SPOT, longitude: 200 } },
    ],
    routes: [...KEPT.routes, { name: "there", stops: [{ spot: SPOT }] }, { name: "x", stops: [7] }],
  };
  await over(content, async (opened, file, log) => {
    const { kept } = await opened;
    assert.deepEqual(kept.waypoints, [{ id: "a2", spot: SPOT }]);
    assert.deepEqual(kept.locations, []);
    assert.deepEqual(kept.routes, [{ name: "there", stops: [{ spot: SPOT }] }]);
    assert.deepEqual(kept.zones, KEPT.zones);

    const aside = `${file}.damaged`;
    assert.deepEqual(JSON.parse(await Deno.readTextFile(aside)), content);
    assert.deepEqual(JSON.parse(await Deno.readTextFile(file)), { version: 1, ...kept });
    const [line, ...others] = log.entries;
    assert.deepEqual(others, []);
    assert.equal(line?.level, "error");
    assert.equal(line.fields?.["event"], "navigation_damaged");
    assert.equal(line.fields["aside"], aside);
    assert.deepEqual(line.fields["wrong"], [
      'locations[0].spot.latitude: found "52", allowed: a number from -90 to 90',
      "locations[1].spot.longitude: found 200, allowed: a number from -180 to 180",
      "waypoints[0].spot: found nothing, allowed: an object",
      "waypoints[2]: found null, allowed: an object",
      'waypoints[3].id: found "", allowed: a string that is not empty',
      "routes[2].stops[0]: found 7, allowed: an object",
      "the route round leads to a location that there is not",
    ]);
    const again = memoryLogger();
    assert.deepEqual((await NavigationStore.open(file, again)).kept, kept);
    assert.deepEqual(again.entries, []);
  });
});

const REFUSED: readonly (readonly [string, string | JsonValue, RegExp])[] = [
  [
    "no JSON",
    '{"version": 1, "way',
    /nav\.json is no file of this version .*; correct it, or move/,
  ],
  ["an array", [], /\(the file: found an array, allowed: an object\)/],
  ["another version", { ...KEPT, version: 2 }, /\(the file\.version: found 2, allowed: .* 1\)/],
  ["a list that is missing", { version: 1, waypoints: [] }, /\(the file\.locations: found nothing/],
  [
    "a zone without a shape",
    { ...KEPT, zones: [{ name: "p", type: "keepout" }] },
    /zones\[0\]\.geo/,
  ],
  [
    "a zone with half a shape",
    { ...KEPT, zones: [{ name: "p", type: "keepout", geometry: { type: "circle" } }] },
    /\(zones\[0\]: geometry\.center: a latitude/,
  ],
  [
    "a limit without a speed",
    { ...KEPT, zones: [{ ...KEPT.zones[1]!, maxSpeed: null }] },
    /\(zones\[0\]: max_speed: found undefined, allowed: more than 0/,
  ],
];

for (const [what, content, message] of REFUSED) {
  Deno.test(`${what} is refused, and the file left as it is`, () =>
    over(content, async (opened, file, log) => {
      await assert.rejects(opened, message);
      assert.deepEqual(log.entries, []);
      const expected = typeof content === "string" ? content : JSON.stringify(content);
      assert.equal(await Deno.readTextFile(file), expected);
      assert.deepEqual([...Deno.readDirSync(join(file, ".."))].length, 1);
    }));
}

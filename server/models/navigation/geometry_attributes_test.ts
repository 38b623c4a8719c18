import assert from "node:assert/strict";
import { region } from "./geometry_attributes.ts";

const location = { latitude: 52, longitude: 13 };

Deno.test("region takes geometries in the form that frames have", () => {
  const { location: at, geometries } = region.parse({
    location,
    geometries: [
      { type: "box", x: 1, y: 2, z: 3, translation: { z: 5 }, label: "wall", comment: "mine" },
      { r: 4, orientation: { type: "ov_degrees", value: { z: 1, th: 90 } } },
      { type: "capsule", r: 1, l: 10 },
    ],
  }, "attributes.obstacles[0]");
  assert.equal(at?.latitude, 52);
  assert.deepEqual(geometries.map(({ geometryType }) => geometryType.case), [
    "box",
    "sphere",
    "capsule",
  ]);
  assert.deepEqual(geometries.map(({ label }) => label), ["wall", "", ""]);
  assert.equal(geometries[0]!.center?.z, 5);
  assert.equal(geometries[1]!.center?.theta, 90);
});

Deno.test("region refuses what is no geometry and names where", () => {
  const refusal = (geometry: Parameters<typeof region.parse>[0]) => {
    try {
      region.parse({ location, geometries: [geometry!] }, "attributes.obstacles[0]");
    } catch (error) {
      return (error as Error).message;
    }
    return "taken";
  };
  assert.match(refusal({ r: "4" }), /attributes\.obstacles\[0\]\.geometries\[0\]\.r/);
  assert.match(refusal({ type: "cone" }), /geometries\[0\]\.type/);
  assert.match(
    refusal({ r: 1, orientation: { type: "quaternion", value: { w: "1" } } }),
    /geometries\[0\]\.orientation\.value\.w/,
  );
  assert.match(refusal({ translation: { x: 1 } }), /a geometry: type, its sizes in mm/);
});

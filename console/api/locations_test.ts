import assert from "node:assert/strict";
import { below, counted, tree, withUnlisted } from "./locations.ts";

Deno.test("tree() puts locations below their parents, and orphans at the top", () => {
  const at = (id: string, name: string, parentLocationId = "") => ({ id, name, parentLocationId });
  const placed = tree([
    ...[at("c", "Shelf", "a"), at("a", "Lab"), at("d", "Attic", "hidden"), at("b", "Bench", "a")],
  ]);
  assert.deepEqual(placed.map(({ location, level }) => `${level} ${location.name}`), [
    ...["0 Attic", "0 Lab", "1 Bench", "1 Shelf"],
  ]);
});

Deno.test("below() finds what is in a location at any depth, in any order", () => {
  const at = (id: string, parentLocationId: string) => ({ id, parentLocationId });
  const all = [at("leaf", "shelf"), at("shelf", "lab"), at("lab", ""), at("other", "")];
  assert.deepEqual([...below("lab", all)].sort(), ["lab", "leaf", "shelf"]);
  assert.deepEqual([...below("leaf", all)], ["leaf"]);
});

Deno.test("counted() counts the machines of a location and of all that are in it", () => {
  const all = [{ id: "lab", parentLocationId: "" }, { id: "shelf", parentLocationId: "lab" }];
  const machines = [{ locationId: "lab" }, { locationId: "shelf" }, { locationId: "shelf" }];
  assert.deepEqual([...counted(all, machines)], [["lab", 3], ["shelf", 2]]);
});

Deno.test("withUnlisted() adds the locations of machines whose location is not listed", () => {
  const listed = [{ id: "lab", name: "Lab", parentLocationId: "" }];
  const machines = [
    { locationId: "lab", location: "Lab" },
    { locationId: "far", location: "Far" },
    { locationId: "far", location: "Far" },
  ];
  assert.deepEqual(withUnlisted(listed, machines).map(({ name }) => name), ["Lab", "Far"]);
});

import assert from "node:assert/strict";
import { fill } from "../../texts/text.ts";
import { below, roleText, tree } from "./roles.ts";

Deno.test("roleText() names role and place, and an unknown place by its id", () => {
  const say = (text: readonly [string, string], values = {}) => fill(text[0], values, "en");
  const names = new Map([["location l1", "Lab"]]);
  const text = (authorizationId: string, resourceType: string, resourceId: string) =>
    roleText({ authorizationId, resourceType, resourceId }, names, say);
  assert.equal(text("organization_owner", "organization", "o1"), "Owner of the organisation");
  assert.equal(text("location_operator", "location", "l1"), "Operator of location Lab");
  assert.equal(text("robot_operator", "robot", "r1"), "Operator of machine r1");
});

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

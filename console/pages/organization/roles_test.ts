import assert from "node:assert/strict";
import { fill } from "../../texts/text.ts";
import { roleText } from "./roles.ts";

Deno.test("roleText() names role and place, and an unknown place by its id", () => {
  const say = (text: readonly [string, string], values = {}) => fill(text[0], values, "en");
  const names = new Map([["location l1", "Lab"]]);
  const text = (authorizationId: string, resourceType: string, resourceId: string) =>
    roleText({ authorizationId, resourceType, resourceId }, names, say);
  assert.equal(text("organization_owner", "organization", "o1"), "Owner of the organisation");
  assert.equal(text("location_operator", "location", "l1"), "Operator of location Lab");
  assert.equal(text("robot_operator", "robot", "r1"), "Operator of machine r1");
});

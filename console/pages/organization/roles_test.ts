import assert from "node:assert/strict";
import { fill } from "../../texts/text.ts";
import { ownRole, type Place, roleFromAbove, roleText } from "./roles.ts";

Deno.test("roleText() names role and place, and an unknown place by its id", () => {
  const say = (text: readonly [string, string], values = {}) => fill(text[0], values, "en");
  const names = new Map([["location l1", "Lab"]]);
  const text = (authorizationId: string, resourceType: string, resourceId: string) =>
    roleText({ authorizationId, resourceType, resourceId }, names, say);
  assert.equal(text("organization_owner", "organization", "o1"), "Owner of the organisation");
  assert.equal(text("location_operator", "location", "l1"), "Operator of location Lab");
  assert.equal(text("robot_operator", "robot", "r1"), "Operator of machine r1");
});

Deno.test("a role on a place counts below it, the higher one of several", () => {
  const granted = (authorizationId: string, resourceType: string, resourceId: string) => ({
    ...{ authorizationId, resourceType, resourceId, identityId: "ann" },
  });
  const roles = [
    granted("organization_operator", "organization", "o1"),
    granted("location_owner", "location", "l1"),
  ];
  const [organization, lab, shelf]: Place[] = [
    { type: "organization", id: "o1" },
    { type: "location", id: "l1" },
    { type: "location", id: "l2" },
  ];
  assert.ok(organization && lab && shelf);
  assert.equal(ownRole(roles, "ann", lab)?.authorizationId, "location_owner");
  assert.equal(ownRole(roles, "bob", lab), undefined);
  assert.equal(ownRole(roles, "ann", shelf), undefined);
  assert.equal(roleFromAbove(roles, "ann", []), undefined);
  assert.equal(roleFromAbove(roles, "ann", [organization]), "operator");
  assert.equal(roleFromAbove(roles, "ann", [lab, organization]), "owner");
});

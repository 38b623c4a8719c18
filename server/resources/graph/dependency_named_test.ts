import assert from "node:assert/strict";
import { dependencyNamed } from "./dependency_named.ts";
import type { Resource } from "./resource.ts";

Deno.test("a dependency is found by every name that a configuration may use", () => {
  const keys = [
    "rdk:component:motor/own",
    "rdk:component:motor/a:own",
    "rdk:component:motor/a:left",
    "rdk:component:motor/a:b:far",
    "rdk:component:motor/a:both",
    "rdk:component:motor/b:both",
    "rdk:component:sensor/a:heat",
  ];
  const dependencies = new Map<string, Resource>(keys.map((key) => [key, {}]));
  const found = (name: string) => {
    const resource = dependencyNamed("rdk:component:motor", name, dependencies);
    return keys.find((key) => resource !== undefined && dependencies.get(key) === resource);
  };
  for (
    const [name, key] of [
      ["own", 0],
      ["rdk:component:motor/own", 0],
      ["a:own", 1],
      ["left", 2],
      ["a:left", 2],
      ["rdk:component:motor/left", 2],
      ["far", 3],
      ["a:b:far", 3],
    ] as const
  ) assert.equal(found(name), keys[key], name);
  for (
    const name of ["", "both", "b:far", "eft", "heat", "a:heat", "rdk:component:sensor/a:heat"]
  ) {
    assert.equal(found(name), undefined, name);
  }
});

import assert from "node:assert/strict";
import { readConfigOnce } from "./reading.ts";
import { formatProblem } from "./problem.ts";
import { unknownKey } from "./unknown_key.ts";
import { warningsForSave } from "./validate.ts";

Deno.test("unknownKey() names the key that was probably meant", () => {
  const meant = (key: string, known: string[]) =>
    /did you mean (.*)\?$/.exec(unknownKey(["agent", key], 1, known).message)?.[1];
  assert.equal(meant("machine-agent", ["agent", "machine-server"]), "agent");
  assert.equal(meant("machine-servr", ["agent", "machine-server"]), "machine-server");
  assert.equal(meant("zebra", ["agent", "machine-server"]), undefined);
});

Deno.test("warningsForSave() tells every unknown key, wherever it stands", () => {
  const warnings = warningsForSave(readConfigOnce({
    componets: [],
    components: [{
      name: "s",
      api: "rdk:component:sensor",
      model: "rdk:builtin:fake",
      atributes: {},
      attributes: { anything: 1 },
    }],
    agent: {
      version_control: { "agent": "stable", "machine-agent": "1.0.0" },
      advancd_settings: { debug: true },
    },
  }));
  assert.deepEqual(warnings.map(formatProblem), [
    "componets: this key is not known; did you mean components? (found: an empty list)",
    "components[0].atributes: this key is not known; did you mean attributes? (found: an object)",
    'agent.version_control.machine-agent: this key is not known; did you mean agent? (found: "1.0.0")',
    "agent.advancd_settings: this key is not known; did you mean advanced_settings? " +
    "(found: an object)",
  ]);
});

Deno.test("a long key is compared with no known one, whoever sends megabytes of it", () => {
  const never = () => assert.fail("it was compared");
  const known = { length: 9, startsWith: () => false, toLowerCase: never } as unknown as string;
  assert.match(unknownKey(["k".repeat(1000)], 1, [known]).message, /^this key is not known$/);
});

Deno.test("twenty unknown keys of an entry are compared with known ones, all are warned about", () => {
  const wrong = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`atributes${at}`, 1]));
  const messages = (config: object) => warningsForSave(readConfigOnce(config)).map(formatProblem);
  const sensor = { name: "s", api: "rdk:component:sensor", model: "rdk:builtin:fake" };
  const ofEntry = messages({ components: [{ ...sensor, ...wrong }] });
  assert.equal(ofEntry.length, 50);
  assert.equal(ofEntry.filter((text) => text.includes("did you mean")).length, 20);
  const slips = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`componets${at}`, 1]));
  const ofTop = messages(slips);
  assert.equal(ofTop.length, 50);
  assert.equal(ofTop.filter((text) => text.includes("did you mean")).length, 20);
});

import assert from "node:assert/strict";
import { validateForSave } from "../../shared/config/validate.ts";
import { formatProblem } from "../../shared/config/problem.ts";
import { whyStop } from "../../cloud/releases/catalogue/rollout_rules.ts";
import { fill, type Text, type Values } from "../../console/texts/text.ts";
import { foundProblem } from "../../console/api/found_problems.ts";

const inGerman = ([, german]: Text, values: Values) => fill(german, values, "de");
const german = (text: string) => foundProblem(text, inGerman);
const sensor = { name: "s", api: "rdk:component:sensor", model: "rdk:builtin:fake" };

/** What a save of a configuration is refused for, as the cloud lists it. */
function refusedFor(config: object): string {
  return validateForSave(config).map(formatProblem).join("; ");
}

Deno.test("what is commonly wrong in a configuration is worded in German", () => {
  const table: readonly [config: object, german: string][] = [
    [
      { components: [{ ...sensor, attributes: 5 }] },
      "components[0].attributes muss ein Objekt sein, in { }.",
    ],
    [{ components: {} }, "components muss eine Liste sein, in [ ]."],
    [{ components: [{ ...sensor, name: 5 }] }, "components[0].name muss ein Text sein."],
    [
      { components: [sensor, sensor] },
      "components[1].name ist vergeben: components[0] hat denselben Wert.",
    ],
    [
      { components: [{ ...sensor, depends_on: ["s"] }] },
      "components[0].depends_on: Die Ressource braucht sich selbst.",
    ],
    [
      {
        components: [
          { ...sensor, name: "a", depends_on: ["b"] },
          { ...sensor, name: "b", depends_on: ["a"] },
        ],
      },
      "Ressourcen brauchen einander: a → b → a.",
    ],
    [
      { components: [{ ...sensor, depends_on: ["gone"] }] },
      'components[0].depends_on[0]: Es gibt keine Komponente und keinen Dienst namens "gone".',
    ],
    [
      { components: [{ ...sensor, name: "?" }] },
      "components[0].name: Ein Name beginnt mit einem Buchstaben oder einer Ziffer; danach sind " +
      "auch - und _ erlaubt.",
    ],
    [
      { components: [{ ...sensor, name: "n".repeat(61) }] },
      "components[0].name hat 61 Zeichen; erlaubt sind 60.",
    ],
    [
      { components: [{ ...sensor, service_configs: [{}] }, sensor] },
      "components[0].service_configs[0].type fehlt.",
    ],
  ];
  for (const [config, text] of table) {
    assert.equal(german(refusedFor(config)), text, refusedFor(config));
  }
  assert.equal(
    german("port: this is out of range (found: 0, allowed: 1 or more); and 3 more"),
    "port muss mindestens 1 sein. Und 3 weitere.",
  );
});

Deno.test("why a rollout stopped is worded in German", () => {
  const rollout = { stopPercent: 10, stopMinimum: 1 };
  assert.equal(
    german(whyStop(rollout, { done: 3, rolledBack: 1 }) ?? ""),
    "1 von 4 Maschinen, die es versuchten, gingen zurück, und 10 % halten es an",
  );
  assert.equal(
    german(whyStop(rollout, { done: 0, rolledBack: 1 }) ?? ""),
    "die einzige Maschine, die es versuchte, ging zurück, und 10 % halten es an",
  );
});

Deno.test("what is not known stays as it is, all of it", () => {
  for (
    const text of [
      "",
      "it must be a JSON object",
      "a: this is strange (found: 1); b is missing",
      "port: this is out of range (found: 0, allowed: 1 or more); and something else",
    ]
  ) assert.equal(german(text), undefined, text);
});

import assert from "node:assert/strict";
import { Validator } from "@cfworker/json-schema";
import { fill, type Text, type Values } from "../texts/text.ts";
import { findingText, jsonProblem } from "./json_findings.ts";

const inGerman = ([, german]: Text, values: Values) => fill(german, values, "de");

function thrownBy(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}

Deno.test("why a text is no JSON is said in the viewer's language, with the place", () => {
  const table: readonly [text: string, german: string][] = [
    ['{\n  "a" 1}', "ab Zeile 2, Spalte 7 nicht lesbar"],
    ['{"a": ', "es endet zu früh"],
    ["abc", "a gehört dort nicht hin"],
  ];
  for (const [text, german] of table) {
    assert.equal(jsonProblem(thrownBy(text), inGerman), german);
  }
  assert.equal(jsonProblem(new Error("strange"), inGerman), "strange");
});

Deno.test("what does not fit a schema is said in the viewer's language", () => {
  const table: readonly [schema: object, value: unknown, german: string][] = [
    [{ type: "number" }, "x", "das muss vom Typ number sein"],
    [{ type: ["number", "null"] }, "x", "das muss vom Typ number, null sein"],
    [{ enum: ["a", "b"] }, "c", 'das muss eines davon sein: "a","b"'],
    [{ const: 5 }, 6, "das muss 5 sein"],
    [{ required: ["pin"] }, {}, "pin fehlt"],
    [{ minimum: 2 }, 1, "das muss mindestens 2 sein"],
    [{ maximum: 2.5 }, 3, "das darf höchstens 2.5 sein"],
    [{ exclusiveMinimum: 0 }, 0, "das muss mehr als 0 sein"],
    [{ exclusiveMaximum: 9 }, 9, "das muss weniger als 9 sein"],
    [{ multipleOf: 5 }, 7, "das muss ein Vielfaches von 5 sein"],
    [{ minLength: 3 }, "ab", "das hat 2 Zeichen; nötig sind mindestens 3"],
    [{ maxLength: 1 }, "ab", "das hat 2 Zeichen; erlaubt sind höchstens 1"],
    [{ minItems: 1 }, [], "das hat 0 Einträge; nötig sind mindestens 1"],
    [{ maxItems: 1 }, [1, 2], "das hat 2 Einträge; erlaubt sind höchstens 1"],
    [{ uniqueItems: true }, [1, 1], "die Einträge 0 und 1 sind gleich"],
    [{ pattern: "^a$" }, "b", "das hat nicht die Form, die das Schema verlangt"],
    [{ format: "ipv4" }, "b", "das hat nicht die Form ipv4"],
    [{ not: {} }, 1, "das passt nicht zum Schema (not)"],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, "a braucht auch b"],
  ];
  for (const [schema, value, german] of table) {
    const [found] = new Validator(schema, "2020-12").validate(value).errors;
    assert.equal(found && findingText(found, inGerman), german, found?.error);
  }
  const [, hidden] =
    new Validator({ additionalProperties: false }, "2020-12").validate({ a: 1 }).errors;
  assert.equal(hidden && findingText(hidden, inGerman), "das ist hier nicht erlaubt");
});

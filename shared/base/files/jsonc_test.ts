import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { JsoncError, parseJsonc } from "./jsonc.ts";

Deno.test("parseJsonc() reads comments, trailing commas and a byte order mark", () => {
  const text = `\ufeff// head
  {
    "a": [1, -2.5e3, "x // no comment", /* inner
      lines */ true, false, null,],
    "b": {"c": "\\u00e4\\n\\"",}, // tail
  } /* end */
  `;
  deepEqual(parseJsonc(text), {
    a: [1, -2500, "x // no comment", true, false, null],
    b: { c: 'ä\n"' },
  });
});

Deno.test("parseJsonc() reads plain JSON as JSON.parse does", () => {
  const text = '{"a":{"__proto__":1,"":[]},"b":"\\ud83d\\ude00"}';
  deepEqual(parseJsonc(text), JSON.parse(text));
  deepEqual(parseJsonc(`${text} //`), JSON.parse(text));
});

const wrong: [text: string, line: number, column: number, message: RegExp][] = [
  ["", 1, 1, /expected a value, found the end of the file/],
  ["{", 1, 2, /expected a name in ", found the end of the file/],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3, /expected , or }, found "\\""/],
  ["{a: 1}", 1, 2, /expected a name in ", found "a"/],
  ['{"a" 1}', 1, 6, /expected : after the name, found "1"/],
  ["[1, 2", 1, 6, /expected , or ], found the end of the file/],
  ["[,]", 1, 2, /expected a value, found ","/],
  ["[1 2]", 1, 4, /expected , or ], found "2"/],
  ["[01]", 1, 3, /expected , or ], found "1"/],
  ["nope", 1, 1, /expected a value, found "n"/],
  ["{} x", 1, 4, /unexpected "x" after the end/],
  ['{"a": "x\ny"}', 1, 7, /an unterminated string or a bad escape/],
  ['["\\q"]', 1, 2, /bad escape/],
  ["[1] /* x", 1, 5, /an unterminated comment/],
  ["[\r\n\r\n 1,\r\n 😀]", 4, 2, /found "😀"/],
  ["[".repeat(100_000), 1, 502, /nested deeper than 500 levels/],
];
for (const [text, line, column, message] of wrong) {
  const shown = JSON.stringify(text.slice(0, 24));
  Deno.test(`parseJsonc() says line and column when the text is ${shown}`, () => {
    throws(() => parseJsonc(text), (error) => {
      ok(error instanceof JsoncError);
      deepEqual([error.line, error.column], [line, column]);
      ok(error.message.startsWith(`line ${line}, column ${column}: `));
      ok(message.test(error.message), error.message);
      return true;
    });
  });
}

Deno.test("parseJsonc() never quotes a value when it fails", () => {
  throws(() => parseJsonc('{"key": "hunter2", "other": hunter3}'), (error) => {
    equal(String(error).includes("hunter"), false, String(error));
    return true;
  });
});

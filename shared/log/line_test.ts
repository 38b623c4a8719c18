import { equal, ok } from "node:assert/strict";
import { callerOf, parseFrame } from "./caller.ts";
import { errorText, fieldsToJson } from "./fields_json.ts";
import { formatLine, type LogLine } from "./line.ts";

const line: LogLine = {
  time: new Date("2026-01-02T03:04:05.006Z"),
  level: "info",
  logger: "rdk",
  message: "serving",
  fields: { url: "http://0.0.0.0:8080" },
  caller: { file: "server/main.ts", line: 7, functionName: "main" },
};

Deno.test("formatLine() writes the fields as compact JSON", () => {
  equal(
    formatLine(line),
    '2026-01-02T03:04:05.006Z\tINFO\trdk\tserver/main.ts:7\tserving\t{"url":"http://0.0.0.0:8080"}',
  );
});

Deno.test("formatLine() leaves the JSON away when there are no fields", () => {
  const text = formatLine({ ...line, level: "warn", fields: {}, caller: undefined });
  equal(text, "2026-01-02T03:04:05.006Z\tWARN\trdk\t-\tserving");
});

Deno.test("formatLine() does not let a message forge a line or reach the terminal", () => {
  const message = "a\r\n2026-01-02T03:04:05.006Z\tINFO\trdk\t-\tb\u001b[31mred";
  const text = formatLine({ ...line, message, fields: {} });
  ok(text.endsWith("\ta\n\t2026-01-02T03:04:05.006Z\tINFO\trdk\t-\tb\\x1b[31mred"), text);
});

Deno.test("formatLine() keeps its columns whatever names and fields hold", () => {
  const text = formatLine({
    ...line,
    logger: "a\tb\nc",
    caller: { file: "x\n/y", line: 1, functionName: "" },
    fields: { "k\u009b": "\u001b[31m\u009b31m\u007f\n" },
  });
  equal(
    text,
    "2026-01-02T03:04:05.006Z\tINFO\ta b c\tx /y:1\tserving\t" +
      String.raw`{"k\u009b":"\u001b[31m\u009b31m\u007f\n"}`,
  );
});

Deno.test("fieldsToJson() bounds its work and its length whatever it is given", () => {
  const wide = (depth: number): unknown => depth === 0 ? "leaf" : Array(200).fill(wide(depth - 1));
  // Whole it would be 200 to the power of 7 leaves.
  ok(fieldsToJson({ wide: wide(7) }).length < 100_000);
  const text = fieldsToJson({ text: "x".repeat(1_000_000) });
  ok(text.length < 20_000 && text.endsWith('… (983616 more characters)"}'), text.slice(-60));
});

Deno.test("fieldsToJson() writes any value and never throws", () => {
  const circular: Record<string, unknown> = { name: "c" };
  circular.self = circular;
  const table: [value: unknown, json: string][] = [
    ["text", '"text"'],
    [1.5, "1.5"],
    [NaN, '"NaN"'],
    [10n ** 20n, '"100000000000000000000"'],
    [null, "null"],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new Error("broken"), '"broken"'],
    [new Error("outer", { cause: new Error("inner") }), '"outer (cause: inner)"'],
    [[1, undefined, { a: [] }], '[1,null,{"a":[]}]'],
    [new Map([["k", 1]]), '{"k":1}'],
    [new Set([1, 2]), "[1,2]"],
    [new Uint8Array(5), '"[5 bytes]"'],
    [circular, '{"name":"c","self":"[circular]"}'],
    [{ toJSON: () => "***" }, '"***"'],
    [{ nested: { toJSON: () => "***" } }, '{"nested":"***"}'],
    ["\ud800 lone", '"\ufffd lone"'],
    [Symbol("s"), '"Symbol(s)"'],
    [Array(300).fill(0), JSON.stringify([...Array(200).fill(0), "[100 more]"])],
  ];
  for (const [value, json] of table) equal(fieldsToJson({ value }), `{"value":${json}}`);
  equal(fieldsToJson({ gone: undefined, kept: 1 }), '{"kept":1}');
  const hostile = {
    get trap(): never {
      throw new Error("boo");
    },
  };
  equal(fieldsToJson({ hostile }), '"[unprintable]"');
});

Deno.test("errorText() tells every cause once", () => {
  const inner = new Error("connection refused");
  const wrapper = new Error("cannot fetch: connection refused", { cause: inner });
  equal(errorText(wrapper), "cannot fetch: connection refused");
  const chain = new Error("a", { cause: new Error("b", { cause: "c" }) });
  equal(errorText(chain), "a (cause: b (cause: c))");
  const loop = new Error("loop");
  loop.cause = loop;
  equal(errorText(loop), "loop");
});

Deno.test("callerOf() names this file and line", () => {
  function logs() {
    return callerOf(logs);
  }
  const caller = logs();
  equal(caller?.file, "log/line_test.ts");
  ok(caller && caller.line > 60 && caller.line < 130, `line ${caller?.line}`);
});

Deno.test("parseFrame() reads every form of frame", () => {
  const table: [frame: string, expected: string | undefined][] = [
    ["    at main (file:///a/server/main.ts:7:3)", "server/main.ts:7 main"],
    ["    at async Foo.bar (file:///a/b.ts:12:1)", "a/b.ts:12 Foo.bar"],
    ["    at file:///a/b/c.ts:1:2", "b/c.ts:1 "],
    ["    at x (C:\\dev\\server\\main.ts:9:1)", "server/main.ts:9 x"],
    ["    at new Foo (ext:deno_web/a.js:9:1)", "ext:deno_web/a.js:9 new Foo"],
    ["    at Array.map (<anonymous>)", undefined],
    ["", undefined],
  ];
  for (const [frame, expected] of table) {
    const caller = parseFrame(`Error\n${frame}`);
    const text = caller && `${caller.file}:${caller.line} ${caller.functionName}`;
    equal(text, expected, frame);
  }
});

import assert from "node:assert/strict";
import { LogQueue, MOST_LINES } from "../log/log_queue.ts";
import { FakeHost } from "../testing.ts";
import { ResourceGraph } from "./graph.ts";
import type { Model } from "./models.ts";

const config = (name: string, attributes = {}, dependsOn: string[] = []) => ({
  name,
  api: "rdk:component:generic",
  model: "test:a:b",
  attributes,
  dependsOn,
});

/** A graph whose models note what is built and closed. */
function graphOf() {
  const host = new FakeHost();
  const notes: string[] = [];
  const model: Model = {
    api: "rdk:component:generic",
    model: "test:a:b",
    construct({ name, attributes, resource }) {
      const value = attributes.number("value", { default: 0 });
      const other = attributes.text("other", "");
      if (other) resource("rdk:component:generic", other);
      notes.push(`+${name}${value}`);
      return { close: () => void notes.push(`-${name}${value}`) };
    },
  };
  const graph = new ResourceGraph(host, [model], new LogQueue(host));
  const errors = () => Object.fromEntries(graph.states.map((one) => [one.config.name, one.error]));
  return { host, graph, notes, errors };
}

Deno.test("apply() builds what changed and what needs it, and nothing else", () => {
  const { graph, notes } = graphOf();
  graph.apply([config("user", { other: "base" }), config("base"), config("alone")], "1");
  assert.deepEqual(notes.splice(0), ["+base0", "+user0", "+alone0"]);
  graph.apply(
    [config("user", { other: "base" }), config("base", { value: 1 }), config("alone")],
    "2",
  );
  assert.deepEqual(notes.splice(0), ["-user0", "-base0", "+base1", "+user0"]);
  graph.apply([], "3");
  assert.deepEqual(notes.sort(), ["-alone0", "-base1", "-user0"]);
});

Deno.test("apply() leaves a resource with wrong attributes as it was, and says so", () => {
  const { graph, errors, notes, host } = graphOf();
  graph.apply([config("a", { value: 1 }), config("b")], "1");
  graph.apply([config("a", { value: "x" }), config("b")], "2");
  assert.match(
    errors()["a"] ?? "",
    /attributes.value is "x"; it must be a number; .* stays in use/,
  );
  assert.ok(graph.find("rdk:component:generic", "a"), "it can be called");
  assert.deepEqual(notes, ["+a1", "+b0", "-a1", "+a1"]);
  assert.ok(host.lines.some((line) => line.includes("error resource.a")));
  graph.apply([config("a", { value: 2 }), config("b")], "3");
  assert.equal(errors()["a"], "");
});

Deno.test("apply() names unknown models, needs that are not there, and circles", () => {
  const { graph, errors, host } = graphOf();
  graph.apply([
    { ...config("x"), model: "acme:y:z" },
    config("lonely", {}, ["nobody"]),
    config("one", { other: "two" }),
    config("two", { other: "one" }),
    config("extra", { valeu: 1 }),
  ], "1");
  assert.match(errors()["x"] ?? "", /acme:y:z .* is not built .*test:a:b/);
  assert.match(errors()["lonely"] ?? "", /no resource nobody/);
  assert.match(`${errors()["one"]}${errors()["two"]}`, /needs itself/);
  assert.ok(host.lines.some((line) => line.includes("attributes.valeu has no effect")));
});

Deno.test("LogQueue drops the oldest lines that only inform, and counts them", () => {
  const queue = new LogQueue(new FakeHost());
  queue.write("error", "a", "kept");
  for (let i = 0; i < MOST_LINES + 9; i++) queue.write("info", "a", `line ${i}`);
  assert.equal(queue.waiting, MOST_LINES);
  const lines = queue.peek(3);
  assert.match(lines[0]?.message ?? "", /^10 log lines were dropped/);
  assert.deepEqual(lines.slice(1).map(({ message }) => message), ["kept", "line 10", "line 11"]);
  queue.sent(lines);
  assert.equal(queue.waiting, MOST_LINES - 3);
  assert.equal(queue.peek(1)[0]?.message, "line 12");
});

import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { fill } from "../../texts/text.ts";
import { lineDifference } from "../../design/line_difference.ts";
import {
  captureMethod,
  entryOf,
  fieldsIn,
  isCaptureMethod,
  parseValue,
  toEntry,
  toForm,
  withEntry,
} from "./trigger_form.ts";
import { isComplete } from "./form_problems.ts";
import { eventWords, receiverWords } from "./trigger_words.ts";

const HOT: JsonObject = {
  name: "hot",
  event: {
    type: "conditional_data_ingested",
    conditional: {
      data_capture_method: "sensor:host:Readings",
      condition: {
        evals: [{ operator: "gt", value: { coordinate: { latitude: 50 } }, note: "mine" }],
      },
    },
  },
  notifications: {
    type: "webhook",
    value: "https://joe:secret@example.com/x",
    auth: { basic: { username: "a", password: "b" } },
    seconds_between_notifications: 60,
  },
  notes: "keep me",
};

Deno.test("toEntry() keeps what the form does not show and what was not changed", () => {
  const entry = toEntry({ ...toForm(HOT), name: "warm" }, HOT);
  assert.deepEqual(entry, { ...HOT, name: "warm", notifications: [HOT["notifications"]] });
});

Deno.test("toEntry() writes changed conditions as conditions, and drops other kinds' settings", () => {
  const form = toForm(HOT);
  assert.deepEqual(form.conditions, [{
    field: "coordinate.latitude",
    operator: "gt",
    value: "50",
  }]);
  form.conditions = [
    { field: "coordinate.latitude", operator: "lt", value: "-3.5" },
    { field: "", operator: "eq", value: '"50"' },
  ];
  assert.deepEqual(toEntry(form, HOT)["event"], {
    type: "conditional_data_ingested",
    conditional: {
      data_capture_method: "sensor:host:Readings",
      conditions: {
        evals: [
          { operator: "lt", value: { "coordinate.latitude": -3.5 } },
          { operator: "eq", value: "50" },
        ],
      },
    },
  });
  const offline = toEntry({ ...form, event: "part_offline", isEnabled: false }, HOT);
  assert.deepEqual(offline["event"], { type: "part_offline" });
  assert.equal(offline["disabled"], true);
});

Deno.test("parseValue() reads numbers, true, false and quoted texts", () => {
  const read = ["5", "-1e3", "true", '"5"', "10 °C", "idle", '"open', "^5\\d$"].map(parseValue);
  assert.deepEqual(read, [5, -1000, true, "5", "10 °C", "idle", '"open', "^5\\d$"]);
});

Deno.test("isComplete() heeds the seconds between notifications only where they are shown", () => {
  const form = { ...toForm(HOT), receivers: [{ ...toForm(HOT).receivers[0]!, seconds: "soon" }] };
  assert.equal(isComplete(form), false);
  const offline = { ...form, event: "part_offline" };
  assert.equal(isComplete(offline), true);
  const [receiver] = toEntry(offline, HOT)["notifications"] as JsonObject[];
  assert.equal("seconds_between_notifications" in receiver!, false);
});

Deno.test("isCaptureMethod() takes what the cloud takes: three names", () => {
  const names = ["sensor:host:Readings", "sensor:remote:host:Readings", "sensor::Readings"];
  assert.deepEqual(names.map(isCaptureMethod), [true, false, false]);
});

Deno.test("captureMethod() and fieldsIn() name what a condition may look at", () => {
  const source = { resourceName: "host", methodName: "Readings" };
  assert.equal(
    captureMethod({ ...source, resourceSubtype: "rdk:component:sensor" }),
    "sensor:host:Readings",
  );
  assert.deepEqual(fieldsIn({ readings: { kg: 1, at: { x: 2, y: null } } }), [
    "kg",
    "at.x",
    "at.y",
  ]);
  assert.deepEqual(fieldsIn({ readings: 5, other: [1] }), ["readings", "other"]);
  assert.deepEqual(fieldsIn({ readings: { "a.b": 1, a: { b: 2 } } }), ["a.b"]);
  assert.deepEqual(fieldsIn({ readings: 5 }), []);
  assert.deepEqual(fieldsIn({}), []);
});

Deno.test("withEntry() replaces the entry of a name in its place, or adds one", () => {
  const config = { network: {}, triggers: [{ name: "a" }, { name: "b" }] };
  assert.deepEqual(withEntry(config, { name: "c" }, "a"), {
    network: {},
    triggers: [{ name: "c" }, { name: "b" }],
  });
  assert.deepEqual(withEntry({}, { name: "c" }, ""), { triggers: [{ name: "c" }] });
  assert.deepEqual(entryOf(config, "b"), { name: "b" });
});

Deno.test("eventWords() and receiverWords() read like a sentence, without passwords", () => {
  const say = (text: readonly [string, string], values = {}) => fill(text[0], values, "en");
  assert.equal(
    eventWords(HOT, say),
    "when sensor:host:Readings uploads a reading with coordinate.latitude > 50",
  );
  assert.deepEqual(receiverWords(HOT, say), ["Webhook https://example.com/x · at most every 60 s"]);
  const offline = { ...HOT, event: { type: "part_offline" } };
  assert.deepEqual(receiverWords(offline, say), ["Webhook https://example.com/x"]);
  assert.equal(eventWords({ event: 5, notifications: 7 }, say), "event ");
});

Deno.test("lineDifference() keeps what both have", () => {
  const shown = lineDifference("a\nb\nc", "a\nx\nc\nd").map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(shown, ["same a", "removed b", "added x", "same c", "added d"]);
  assert.deepEqual(lineDifference("", "a"), [{ kind: "added", text: "a" }]);
});

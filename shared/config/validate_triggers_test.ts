import { testSaving } from "./testing.ts";

const trigger = (event: object, more: object = {}) => ({
  triggers: [{
    name: "t",
    event,
    notifications: [{ type: "email", value: "a@b.example", seconds_between_notifications: 0 }],
    ...more,
  }],
});
const notify = (notification: object) =>
  trigger({ type: "part_online" }, { notifications: [notification] });
const conditional = (conditional: object) =>
  trigger({ type: "conditional_data_ingested", conditional });
const when = (operator: string, value: unknown) =>
  conditional({
    data_capture_method: "sensor:host:Readings",
    conditions: { evals: [{ operator, value }] },
  });
const EVAL = "triggers[0].event.conditional.conditions.evals[0]";

testSaving([
  // Triggers.
  { what: "trigger online", json: trigger({ type: "part_online" }), paths: [] },
  {
    what: "trigger with notes, disabled",
    json: trigger({ type: "part_offline" }, { notes: "n", disabled: true }),
    paths: [],
  },
  {
    what: "trigger with one notification in place of a list",
    json: trigger({ type: "part_online" }, {
      notifications: { type: "email", value: "a@b.example" },
    }),
    paths: [],
  },
  {
    what: "trigger with one wrong notification in place of a list",
    json: trigger({ type: "part_online" }, { notifications: { type: "pigeon" } }),
    paths: ["triggers[0].notifications[0].type"],
  },
  {
    what: "trigger without name",
    json: trigger({ type: "part_online" }, { name: " " }),
    paths: ["triggers[0].name"],
  },
  {
    what: "trigger with a long name",
    json: trigger({ type: "part_online" }, { name: "n".repeat(201) }),
    paths: ["triggers[0].name"],
  },
  {
    what: "two triggers of one name",
    json: {
      triggers: [
        ...trigger({ type: "part_online" }).triggers,
        ...trigger({ type: "part_offline" }).triggers,
      ],
    },
    paths: ["triggers[1].name"],
  },
  { what: "trigger without event", json: trigger({}), paths: ["triggers[0].event.type"] },
  {
    what: "trigger of unknown type",
    json: trigger({ type: "part_lost" }),
    paths: ["triggers[0].event.type"],
  },
  {
    what: "trigger data",
    json: trigger({
      type: "part_data_ingested",
      data_ingested: { data_types: ["binary", "tabular", "file", "unspecified"] },
    }),
    paths: [],
  },
  {
    what: "trigger data of unknown type",
    json: trigger({ type: "part_data_ingested", data_ingested: { data_types: ["binary", "x"] } }),
    paths: ["triggers[0].event.data_ingested.data_types[1]"],
  },
  {
    what: "trigger data of no type",
    json: trigger({ type: "part_data_ingested", data_ingested: { data_types: [] } }),
    paths: ["triggers[0].event.data_ingested.data_types"],
  },
  {
    what: "trigger data without object",
    json: trigger({ type: "part_data_ingested" }),
    paths: ["triggers[0].event.data_ingested.data_types"],
  },
  {
    what: "trigger logs",
    json: trigger({ type: "conditional_logs_ingested", log_levels: ["error"] }),
    paths: [],
  },
  {
    what: "trigger logs without levels",
    json: trigger({ type: "conditional_logs_ingested" }),
    paths: ["triggers[0].event.log_levels"],
  },
  {
    what: "trigger condition missing",
    json: trigger({ type: "conditional_data_ingested" }),
    paths: ["triggers[0].event.conditional"],
  },
  {
    what: "trigger condition always",
    json: conditional({ data_capture_method: "sensor:host:Readings" }),
    paths: [],
  },
  {
    what: "trigger condition empty",
    json: conditional({ data_capture_method: "sensor:host:Readings", conditions: {} }),
    paths: [],
  },
  {
    what: "trigger `condition`",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: [{ operator: "gt", value: { cpu: 1 } }] },
    }),
    paths: [],
  },
  {
    what: "trigger `condition` checked",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: [{ operator: "above", value: 1 }] },
    }),
    paths: ["triggers[0].event.conditional.condition.evals[0].operator"],
  },
  {
    what: "trigger `condition` with a bad regex",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: [{ operator: "regex", value: "(" }] },
    }),
    paths: ["triggers[0].event.conditional.condition.evals[0].value"],
  },
  {
    what: "trigger method of two parts",
    json: conditional({ data_capture_method: "sensor:host" }),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  {
    what: "trigger method of four parts",
    json: conditional({ data_capture_method: "a:b:c:d" }),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  {
    what: "trigger method with empty part",
    json: conditional({ data_capture_method: "sensor::Readings" }),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  {
    what: "trigger method missing",
    json: conditional({}),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  ...["lt", "gt", "lte", "gte", "eq", "neq"].map((operator) => ({
    what: `eval ${operator}`,
    json: when(operator, { coordinate: { latitude: 50 } }),
    paths: [],
  })),
  { what: "eval regex", json: when("regex", { state: "^ok$" }), paths: [] },
  { what: "eval unknown operator", json: when("like", 1), paths: [`${EVAL}.operator`] },
  { what: "eval eq plain values", json: when("eq", true), paths: [] },
  { what: "eval dotted path", json: when("gt", { "coordinate.latitude": 50 }), paths: [] },
  { what: "eval without value", json: when("eq", undefined), paths: [`${EVAL}.value`] },
  { what: "eval with null", json: when("eq", null), paths: [`${EVAL}.value`] },
  { what: "eval with empty object", json: when("gt", {}), paths: [`${EVAL}.value`] },
  { what: "eval gt true", json: when("gt", { on: true }), paths: [`${EVAL}.value.on`] },
  { what: "eval with list", json: when("eq", { a: { b: [1] } }), paths: [`${EVAL}.value.a.b`] },
  { what: "eval bad regex", json: when("regex", "("), paths: [`${EVAL}.value`] },
  { what: "eval regex of RE2", json: when("regex", { state: "(?i)^(?P<first>ok)$" }), paths: [] },
  { what: "eval regex that looks ahead", json: when("regex", "a(?=b)"), paths: [`${EVAL}.value`] },
  {
    what: "eval regex too long",
    json: when("regex", "a".repeat(1_001)),
    paths: [`${EVAL}.value`],
  },
  { what: "eval regex number", json: when("regex", { a: 5 }), paths: [`${EVAL}.value.a`] },
  // Notifications.
  {
    what: "webhook",
    json: notify({
      type: "webhook",
      value: "https://h.example/x",
      auth: { basic: { username: "u", password: "p" } },
    }),
    paths: [],
  },
  {
    what: "webhook without scheme",
    json: notify({ type: "webhook", value: "h.example/x" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "webhook without host",
    json: notify({ type: "webhook", value: "http://" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "webhook by ftp",
    json: notify({ type: "webhook", value: "ftp://h/x" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "webhook missing",
    json: notify({ type: "webhook" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "email to owners",
    json: notify({ type: "email", value: "all_machine_owners" }),
    paths: [],
  },
  {
    what: "email without @",
    json: notify({ type: "email", value: "nobody" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "notification of unknown type",
    json: notify({ type: "pigeon", value: "x" }),
    paths: ["triggers[0].notifications[0].type"],
  },
  {
    what: "notification spacing negative",
    json: notify({ type: "email", value: "a@b", seconds_between_notifications: -1 }),
    paths: ["triggers[0].notifications[0].seconds_between_notifications"],
  },
  {
    what: "notification with half a login",
    json: notify({ type: "webhook", value: "http://h/", auth: { basic: { username: "u" } } }),
    paths: ["triggers[0].notifications[0].auth.basic.password"],
  },
  {
    what: "too many notifications",
    json: trigger({ type: "part_online" }, {
      notifications: Array(51).fill({ type: "email", value: "a@b" }),
    }),
    paths: ["triggers[0].notifications"],
  },
  {
    what: "too many evals",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: Array(101).fill({ operator: "gt", value: 1 }) },
    }),
    paths: ["triggers[0].event.conditional.condition.evals"],
  },
  {
    what: "no notifications",
    json: trigger({ type: "part_online" }, { notifications: [] }),
    paths: ["triggers[0].notifications"],
  },
]);

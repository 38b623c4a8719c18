import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "@bufbuild/protobuf";
import { statementProblem } from "../../cloud/data/queries/statement_check.ts";
import { compileCondition, evaluate } from "../../cloud/triggers/rules/condition.ts";
import { readConfigOnce } from "../../shared/config/reading.ts";
import { validateForSave, warningsForSave } from "../../shared/config/validate.ts";
import { readImports, readMods } from "../../cloud/fleet/fragments/fragment_import.ts";
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

const camera = { name: "c", api: "rdk:component:camera", model: "rdk:builtin:fake" };
const conditional = (evals: unknown) => ({
  type: "conditional_data_ingested",
  conditional: { data_capture_method: "sensor:s:Readings", conditions: { evals } },
});
const hook = { type: "webhook", value: "https://receiver.example" };
const trigger = (name: string, event: unknown, notifications: unknown = [hook]) => ({
  ...{ name, event, notifications },
});
const rule = (field: string, rest: object) =>
  trigger(field, conditional([{ operator: "gt", field, value: 1, ...rest }]));

Deno.test("all that the checks of a configuration report is worded in German", () => {
  const wrong = {
    components: [
      { name: "", api: "x", model: "y" },
      { name: "no api" },
      { name: "a:b", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
      { ...sensor, name: "b", log_configuration: { level: "loud" }, depends_on: [""] },
      {
        ...{
          ...camera,
          frame: { orientation: { type: "ov_degrees", value: { x: 0, y: 0, z: 0 } } },
        },
      },
      { ...camera, name: "d", frame: { orientation: { type: "quaternion" } } },
      { ...camera, name: "e", frame: { geometry: { type: "sphere", r: -1 } } },
      { ...camera, name: "f", attributes: [] },
    ],
    modules: [
      { name: "m", type: "local" },
      { name: "n", type: "registry" },
      { name: "o", type: "local", executable_path: "/x", first_run_timeout: "-1s" },
      { name: "p", type: "registry", module_id: "a:b", reload_enabled: true },
      { name: "builtin", type: "local", executable_path: "/x" },
      { name: "rdk", type: "local", executable_path: "/x" },
    ],
    packages: [{ name: "p", package: "", type: "strange", version: "1" }],
    remotes: [
      { name: "r", address: "" },
      { name: "s", address: "x:1", auth: { credentials: { type: "wish", payload: "x" } } },
      { name: "t", address: "x:1", frame: {} },
    ],
    processes: [{ id: "", name: "" }, { id: "q", name: "x", stop_signal: "SIGNOTHING" }],
    jobs: [
      { name: "j", schedule: "often", resource: "", method: "" },
      { name: "k", schedule: "0s", resource: "s", method: "m" },
      { name: "l", schedule: "61 * * * *", resource: "s", method: "m" },
      { name: "m", schedule: "TZ=Nowhere/At 1 * * * *", resource: "s", method: "m" },
    ],
    log: [{ pattern: "", level: "loud" }, { pattern: "a b", level: "info" }],
    network: {
      ...{ bind_address: "nowhere", tls_cert_file: "x", sessions: { heartbeat_window: "1h" } },
      ...{ allowed_hosts: ["a b"], allowed_origins: ["x"] },
    },
    auth: { handlers: [{ type: "wish" }, { type: "api-key", config: {} }, { type: "api-key" }] },
    maintenance: { sensor_name: "s", maintenance_allowed_key: "" },
    triggers: [
      trigger("", { type: "part_online" }, []),
      trigger("n".repeat(300), { type: "part_online" }, [{ type: "webhook", value: "x" }]),
      trigger("c", { type: "part_online" }, [{ type: "email", value: "nobody" }]),
      trigger("d", { type: "part_data_ingested" }),
      trigger("e", { type: "conditional_logs_ingested", conditional: {} }),
      trigger("f", { type: "conditional_data_ingested" }),
      trigger("g", {
        type: "conditional_data_ingested",
        conditional: { data_capture_method: "x" },
      }),
      rule("h", { value: true }),
      rule("i", { operator: "regex", value: 5 }),
      rule("j", { operator: "regex", value: "(" }),
      rule("k", { value: undefined }),
      rule("l", { value: [] }),
      rule("m", { value: {} }),
      rule("n", { operator: "regex", value: "x".repeat(5_000) }),
    ],
  };
  const found = validateForSave(wrong);
  assert.ok(found.length > 50, `only ${found.length} were found`);
  for (const problem of found.map(formatProblem)) {
    const said = german(problem);
    assert.ok(said !== undefined, problem);
    assert.doesNotMatch(said, /\b(?:the|this|is|must)\b/, problem);
  }
});

Deno.test("what is odd in a configuration, and wrong with its fragments, is worded in German", () => {
  const odd = readConfigOnce({
    ...{ fragment_mods: [{}], machine_agent: {}, auth: { external_auth_config: { jwks: {} } } },
    services: [{
      ...{ name: "data", api: "rdk:service:data_manager", model: "rdk:builtin:builtin" },
      attributes: { mongo_capture_config: { uri: "x" } },
      service_configs: [{
        type: "data_manager",
        attributes: { capture_methods: [{ method: "Readings", capture_queue_size: 5 }] },
      }],
    }],
    triggers: [trigger("t", { type: "part_online" }, [{ type: "push", value: "x" }])],
  }, 100);
  const warnings = warningsForSave(odd).map(formatProblem);
  assert.ok(warnings.length > 4, warnings.join("\n"));
  for (const text of warnings) {
    assert.match(german(text) ?? "", /(?:keine Wirkung|nicht bekannt|wirkt nicht)/, text);
  }
  const id = "f1";
  const wrong = [
    { fragments: 5 },
    { fragments: [5] },
    { fragments: [{}] },
    { fragments: [{ id: 5 }] },
    { fragments: [{ id, prefix: "?" }] },
    { fragments: [{ id, variables: 5 }] },
    { fragments: [id, id] },
    { fragment_mods: 5 },
    { fragment_mods: [5] },
    { fragment_mods: [{ fragment_id: id, mods: [{ $push: {} }] }] },
    { fragment_mods: [{ fragment_id: id, mods: [{ $set: 5 }] }] },
  ];
  for (const config of wrong as JsonObject[]) {
    assert.throws(() => void [...readImports(config), ...readMods(config)], (error) => {
      const { message } = error as Error;
      const said = german(message);
      assert.ok(said !== undefined, message);
      assert.doesNotMatch(said, /\b(?:the|this|is|must)\b/, message);
      return true;
    });
  }
});

Deno.test("what SQLite and the cloud find wrong in a query is worded in German", () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE readings (a, b); CREATE TABLE other (a)");
  const table: readonly [query: string, german: string][] = [
    ["SELECT gone FROM readings", "Es gibt keine Spalte gone."],
    ["SELECT 1 FROM nowhere", "Es gibt keine Tabelle nowhere; nehmen Sie readings."],
    ["SELECT nofun(1)", "Es gibt keine Funktion nofun."],
    ["SELECT FROM readings", "Ab „FROM“ ist sie nicht zu verstehen."],
    ["SELECT (1", "Sie hört zu früh auf."],
    ["SELECT a FROM readings, other", "a gibt es in mehreren Tabellen; nennen Sie eine."],
    ["SELECT a FROM readings WHERE count(*) > 1", "count() kann dort nicht stehen."],
    ["SELECT abs(1, 2)", "abs() hat die falsche Zahl von Argumenten."],
    ["SELECT '", "„'“ ist dort nicht erlaubt."],
    [
      "SELECT a FROM readings ORDER BY 5",
      "Mit seinem 1. Ausdruck nennt ORDER BY keine Spalte des Ergebnisses.",
    ],
    [
      "SELECT a FROM readings UNION SELECT a, b FROM readings",
      "Beide Seiten von UNION brauchen gleich viele Spalten.",
    ],
    ["SELECT *", "SELECT * braucht FROM readings."],
    ["SELECT abs(a) OVER () FROM readings", "abs() kann kein OVER haben."],
  ];
  for (const [query, wanted] of table) {
    assert.throws(() => database.prepare(query), (error) => {
      assert.equal(german((error as Error).message), wanted, query);
      return true;
    });
  }
  // Rare ones.
  for (
    const query of [
      "SELECT a FROM readings UNION SELECT b FROM readings ORDER BY a + 1",
      "SELECT a FROM readings GROUP BY 7",
      "SELECT a FROM readings HAVING a > 1",
      "SELECT a FROM readings GROUP BY count(*)",
      "SELECT (1, 2)",
      "SELECT * FROM readings JOIN other USING (b)",
      "SELECT a FROM readings NATURAL JOIN other ON 1",
      "SELECT a FROM readings ORDER BY a UNION SELECT b FROM readings",
      "WITH x AS (SELECT * FROM x) SELECT * FROM x",
      "SELECT sum(a) OVER w FROM readings",
      "SELECT a FROM readings ORDER BY a COLLATE zz",
      "SELECT group_concat(DISTINCT a, ',') FROM readings",
      "SELECT abs(-9223372036854775808)",
      "SELECT zeroblob(3000000000)",
      "SELECT json('x')",
      "SELECT json_extract('{}', 'x')",
      "SELECT 'a' LIKE 'a' ESCAPE 'xx'",
      "VALUES (1), (1, 2)",
      "SELECT sum(sum(a)) FROM readings",
      "SELECT a FROM readings INDEXED BY nope",
      `SELECT ${Array(3_000).fill(1).join()}`,
      `SELECT 1${" + 1".repeat(2_000)}`,
    ]
  ) {
    assert.throws(() => database.prepare(query).all(), (error) => {
      const { message } = error as Error;
      const said = german(message);
      assert.ok(said !== undefined, message);
      assert.doesNotMatch(said, /\b(?:the|this|is|must|not)\b/, message);
      return true;
    }, query);
  }
  database.close();
  const refused: readonly [query: string, german: string][] = [
    ["", "Da steht keine Abfrage."],
    ["DROP TABLE x", "Sie beginnt mit DROP; eine Abfrage beginnt mit SELECT oder WITH."],
    [
      "SELECT * FROM sqlite_master",
      "sqlite_master ist nicht benutzbar; es gibt eine Tabelle, readings.",
    ],
  ];
  for (const [query, wanted] of refused) assert.equal(german(statementProblem(query)!), wanted);
});

Deno.test("why a condition of a trigger could not compare is worded in German", () => {
  const table: readonly [condition: object, reading: JsonObject, german: string][] = [
    [{ value: { gone: 1 } }, { temperature: 1 }, "Es gibt kein gone."],
    [{ value: { statement: 1 } }, { temperature: 1 }, "Es gibt kein statement."],
    [{ value: { "a long name": 1 } }, { temperature: 1 }, "Es gibt kein a long name."],
    [{ value: { a: 1 } }, { a: "x" }, "a ist ein Text; in der Bedingung steht eine Zahl."],
    [{ value: { a: "x" } }, { a: true }, "a ist true oder false; in der Bedingung steht ein Text."],
    [{}, { a: [1] }, "Der Wert des Messwerts ist eine Liste und nicht vergleichbar."],
    [{}, { a: null }, "Der Wert des Messwerts ist null und nicht vergleichbar."],
    [{ value: { a: 1 } }, { a: NaN }, "a ist keine Zahl (NaN)."],
    [{}, {}, "Der Messwert ist leer."],
    [
      {},
      { a: 1, b: 2 },
      "Der Messwert hat mehrere Werte, und die Bedingung nennt keinen davon.",
    ],
  ];
  for (const [condition, reading, wanted] of table) {
    const compiled = compileCondition([{ operator: "gt", value: 1, ...condition }] as never);
    const outcome = evaluate(compiled, reading, { steps: 1 });
    assert.equal(german("problem" in outcome ? outcome.problem : ""), wanted);
  }
});

Deno.test("why a regular expression cannot be read is worded in German", () => {
  const triggers = [
    "(",
    "[a",
    "a)",
    "*",
    "a**",
    "a{5000}",
    "[z-a]",
    "\\y",
    "\\",
    "(?=a)",
    "(?<=a)b",
  ]
    .map((value, at) => rule(`r${at}`, { operator: "regex", value }));
  const log = ["(", "[", "x)", "[z-a]", "(?P<a>b)", "x".repeat(2_000)]
    .map((pattern) => ({ pattern, level: "info" }));
  const found = validateForSave({ triggers, log }).map(formatProblem);
  assert.equal(found.length, triggers.length + log.length, found.join("\n"));
  for (const problem of found) {
    const why = /nicht lesbar: (?<why>.+?)\. |nicht lesbar: (?<whole>.+)\.$/.exec(
      german(problem) ?? "",
    );
    assert.match(why?.[0] ?? "", /lesbar: (?:eine? |zu |vor |\* |die |was |er )/, problem);
  }
});

Deno.test("a text that only ends like one of the cloud's is left as it is", () => {
  assert.equal(german("the module says: it has 5 characters; 3 are allowed"), undefined);
  assert.equal(
    german("the configuration has 5 characters; 3 are allowed"),
    "Es sind 5 Zeichen; erlaubt sind 3.",
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

Deno.test("a text that is longer than any of the cloud's is left as it is", () => {
  const problem = (found: string) =>
    `attributes: this is the wrong kind of value (found: ${found}, allowed: object)`;
  assert.equal(german(problem("5")), "attributes muss ein Objekt sein, in { }.");
  assert.equal(german(problem("5".repeat(3_000))), undefined);
  const many = `${problem("5")}; `.repeat(400);
  assert.equal(german(many.slice(0, -2)), undefined);
});

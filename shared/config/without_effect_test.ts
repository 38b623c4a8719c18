import assert from "node:assert/strict";
import { readConfigOnce } from "./reading.ts";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { machineConfigJsonSchema } from "./json_schema.ts";
import { formatProblem } from "./problem.ts";
import { warningsForSave } from "./validate.ts";
import { WITHOUT_EFFECT, withoutEffect } from "./without_effect.ts";

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
}

/** Paths of all fields, and of those objects that take any key. */
function fields(schema: Schema, path = ""): { known: string[]; free: string[] } {
  const inner = [
    ...(schema.anyOf ?? []).map((each) => fields(each, path)),
    ...(schema.items ? [fields(schema.items, `${path}[]`)] : []),
    ...(typeof schema.additionalProperties === "object"
      ? [fields(schema.additionalProperties, `${path}.*`)]
      : []),
    ...Object.entries(schema.properties ?? {}).map(([key, each]) =>
      fields(each, path === "" ? key : `${path}.${key}`)
    ),
  ];
  const isFree = schema.additionalProperties !== undefined &&
    Object.keys(schema.properties ?? {}).length === 0;
  return {
    known: [...new Set([path, ...inner.flatMap((each) => each.known)])],
    free: [...(isFree ? [path] : []), ...inner.flatMap((each) => each.free)],
  };
}

const { known, free } = fields(machineConfigJsonSchema() as Schema);

Deno.test("every field without effect is one of the schema, or of attributes", () => {
  for (const { path } of WITHOUT_EFFECT) {
    const isKnown = known.includes(path) || free.some((each) => path.startsWith(`${each}.`));
    assert.ok(isKnown, path);
  }
});

/** Fields that say something to people only, or are read under another name. */
const READ_ELSEWHERE = [
  /^(components|services)\[\]\.model\.model_family$/, // shared/config/normalize.ts
  /\.geometry\.mesh_(data|content_type|file_path)$/, // shared/config/proto/frames.ts
  /^modules\[\]\.reload_/, // shared/config/reload.ts; user and time are for people
];

Deno.test("a field of the schema that no program reads is listed as one without effect", async () => {
  const texts: string[] = [];
  for (const program of ["server", "agent", "cloud"]) {
    await readSources(fileURLToPath(new URL(`../../${program}`, import.meta.url)), texts);
  }
  const words = new Set(texts.join("\n").match(/[A-Za-z_][\w]*/g));
  const unread = known.filter((path) => {
    const key = /([\w-]+)(\[\])*$/.exec(path)?.[1] ?? "";
    const camel = key.replaceAll(/[_-](.)/g, (_, letter: string) => letter.toUpperCase());
    return key !== "" && !words.has(key) && !words.has(camel) && !key.includes("-");
  });
  const listed = (path: string) =>
    WITHOUT_EFFECT.some((one) =>
      path === one.path || /^[.[]/.test(path.slice(one.path.length)) &&
        path.startsWith(one.path)
    );
  const missing = unread.filter((path) =>
    !listed(path) && !READ_ELSEWHERE.some((pattern) => pattern.test(path))
  );
  assert.deepEqual(missing, []);
  assert.ok(unread.includes("auth.tls_auth_entities"), "it finds some");
});

async function readSources(folder: string, texts: string[]): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await readSources(path, texts);
    else if (/\.ts$/.test(name) && !/(^test_|_test\.ts$)/.test(name)) {
      texts.push(await Deno.readTextFile(path));
    }
  }
}

const CAPTURE = {
  service_configs: [{
    type: "data_manager",
    attributes: {
      capture_methods: [{ method: "Readings", capture_frequency_hz: 1, capture_queue_size: 250 }],
    },
  }],
};

Deno.test("withoutEffect() says where each field stands and what happens instead", () => {
  const sensor = { name: "s", api: "rdk:component:sensor", model: "rdk:builtin:fake" };
  const config = {
    components: [sensor, { ...sensor, name: "t", ...CAPTURE }],
    fragments: ["id"],
    auth: { tls_auth_entities: ["x"], external_auth_config: { jwks: { keys: [] } } },
    remotes: [{ name: "r", address: "x", managed_by: "elsewhere" }],
    triggers: [{
      name: "t",
      event: { type: "part_online" },
      notifications: [{ type: "email", value: "a@b.c" }, { type: "push" }],
    }],
  };
  const told = withoutEffect(config).map(formatProblem);

  const queue = "components[1].service_configs[0].attributes.capture_methods[0].capture_queue_size";
  assert.deepEqual(told.map((text) => text.split(": has no effect: ")[0]), [
    "fragments",
    "remotes[0].managed_by",
    "auth.tls_auth_entities",
    "auth.external_auth_config",
    "triggers[0].notifications[1].type",
    queue,
  ]);
  const saved = warningsForSave(readConfigOnce(config)).map(formatProblem);
  for (const each of told) assert.ok(saved.includes(each), each);
});

Deno.test("withoutEffect() is silent about what says the same as nothing", () => {
  for (const empty of [undefined, null, [], {}]) {
    assert.deepEqual(withoutEffect({ fragments: empty, remotes: empty, agent: empty }), []);
  }
  const odd = { agent: [], auth: "x", triggers: {}, components: [1, null, { service_configs: 3 }] };
  assert.deepEqual(withoutEffect(odd), []);
  assert.deepEqual(withoutEffect(null), []);
});

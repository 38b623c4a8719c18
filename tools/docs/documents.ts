import { join } from "node:path";
import { IDLE_DEPS } from "../../cli/program/idle_deps.ts";
import { machineProgram } from "../../cli/program/program.ts";
import { builtinModels } from "../../server/models/builtin.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { reasons } from "../../shared/rpc/reason_texts.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { machineConfigJsonSchema } from "../../shared/config/json_schema.ts";
import { areaTable } from "../import_rules/areas.ts";
import { ROOT } from "../programs.ts";
import { fillBlocks } from "./blocks.ts";
import { MODEL_EXAMPLES } from "./model_examples.ts";
import { fieldRows, fieldTable, type JsonSchema } from "./schema_table.ts";

/** Parts of a configuration that have a table of their own, by the name of its block. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  resources: ["components"],
  modules: ["modules"],
  packages: ["packages"],
  processes: ["processes"],
  jobs: ["jobs"],
  network: ["network"],
  auth: ["auth"],
  logs: ["log", "debug", "disable_log_deduplication"],
  maintenance: ["maintenance"],
  diagnostics: ["tracing", "enable_web_profile"],
  cloud: ["cloud", "revision"],
  remotes: ["remotes"],
  triggers: ["triggers"],
  fragments: ["fragments", "fragment_mods"],
  agent: ["agent"],
};

/** Fields that stand in several places and are described once. */
const SHARED = ["components[].frame", "remotes[].frame"];

/** A document and what it is to be. */
export interface Document {
  /** From the root of the checkout. */
  path: string;
  text: string;
}

/** The documents with generated parts, made from the code as it is. */
export async function documents(): Promise<Document[]> {
  return await Promise.all([
    document("ARCHITECTURE.md", new Map([["areas", areaTable()]])),
    document("docs/api.md", new Map([["reasons", reasonTable()]])),
    document("docs/command-line.md", new Map([["commands", commandList()]])),
    document("docs/configuration.md", configurationBlocks()),
    document("docs/models.md", await modelBlocks()),
  ]);
}

async function document(path: string, blocks: Map<string, string>): Promise<Document> {
  const text = await Deno.readTextFile(join(ROOT, path));
  return { path, text: await format(fillBlocks(text, blocks)) };
}

/** Why calls fail, as the console says it. */
function reasonTable(): string {
  const rows = Object.entries(reasons).sort().map(([reason, [english]]) =>
    `| \`${reason}\` | ${english} |`
  );
  return ["| reason | in words, with the values in braces |", "| --- | --- |", ...rows].join("\n");
}

/** Every command of `machine` with what it takes. */
function commandList(): string {
  const rows = Object.entries(machineProgram(IDLE_DEPS).tree).map(([name, command]) => {
    const words = (command.arguments ?? [])
      .map(({ placeholder, optional }) => optional ? `[${placeholder}]` : placeholder);
    const flags = Object.entries(command.flags).filter(([, { hidden }]) => !hidden)
      .map(([flag]) => `\`--${flag}\``);
    const typed = `\`${["machine", name, ...words].join(" ").replaceAll("|", "\\|")}\``;
    return `| ${typed} | ${command.summary} | ${flags.join(" ")} |`;
  });
  return ["| command | does | own options |", "| --- | --- | --- |", ...rows].join("\n");
}

function configurationBlocks(): Map<string, string> {
  const schema = machineConfigJsonSchema() as JsonSchema;
  const properties = schema.properties ?? {};
  const told = new Set(["services", ...Object.values(SECTIONS).flat()]);
  const untold = Object.keys(properties).filter((name) => !told.has(name));
  if (untold.length > 0) throw new Error(`tools/docs has no section for ${untold.join(", ")}`);
  const pick = (names: readonly string[]): JsonSchema => ({
    required: schema.required ?? [],
    properties: Object.fromEntries(names.map((name) => [name, properties[name] ?? {}])),
  });
  const blocks = new Map<string, string>();
  for (const [block, names] of Object.entries(SECTIONS)) {
    blocks.set(block, fieldTable(fieldRows(pick(names), "", SHARED)));
  }
  const frame = properties.components?.items?.properties?.frame ?? {};
  blocks.set("frame", fieldTable(fieldRows({ properties: { frame } })));
  return blocks;
}

async function modelBlocks(): Promise<Map<string, string>> {
  const registry = builtinModels({
    clock: systemClock,
    processes: systemProcesses(),
    untrusted: false,
    home: ROOT,
    variables: () => ({}),
  });
  const byApi = Map.groupBy(await registry.dump(), ({ api }) => api);
  const triedWith = Object.fromEntries(
    registry.list().map(({ api, model, triedWith = "nothing" }) => [`${api} ${model}`, triedWith]),
  );
  const sections = [...byApi].flatMap(([api, models]) => [
    `### \`${api}\``,
    ...models.flatMap(({ model, attribute_schema }) => {
      const rows = fieldRows(attribute_schema as JsonSchema);
      const example = MODEL_EXAMPLES[`${api} ${model}`];
      return [
        `**\`${model}\`**`,
        rows.length > 0 ? fieldTable(rows) : "No attributes.",
        jsonBlock({ name: example?.name, api, model, attributes: example?.attributes }),
        `Tried with ${triedWith[`${api} ${model}`]}.`,
      ];
    }),
  ]);
  return new Map([["models", sections.join("\n\n")]]);
}

function jsonBlock(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, undefined, 2)}\n\`\`\``;
}

/** As `make fmt` would write it. */
async function format(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--ext", "md", "-"],
    cwd: ROOT,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("deno fmt failed");
  return new TextDecoder().decode(stdout);
}

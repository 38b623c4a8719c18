/** The documentation says what the code does: options, fields, variables, models, links. */
import assert from "node:assert/strict";
import { dirname, posix } from "node:path";
import { moduleEnvironment } from "../../server/modules/manager/module_environment.ts";
import { commandLine } from "../../server/run/options/options.ts";
import { readEnvironment } from "../../server/run/options/environment.ts";
import { parseMachineConfig } from "../../shared/config/parse.ts";
import { documents } from "../../tools/docs/documents.ts";
import { readSources } from "./sources.ts";

const sources = await readSources();
const textOf = (path: string): string => {
  const source = sources.find((file) => file.path === path);
  assert.ok(source, `${path} is missing`);
  return source.text;
};

/** Rows of all tables of a document whose first cell is code: its names, and the other cells. */
function codeRows(path: string): { names: string[]; cells: string[] }[] {
  return textOf(path).split("\n").filter((line) => line.startsWith("| `")).map((line) => {
    const [first = "", ...cells] = line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim());
    return { names: [...first.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""), cells };
  });
}

Deno.test("the generated tables of docs/ are what the code gives", async () => {
  const stale = (await documents()).filter(({ path, text }) => textOf(path) !== text);
  assert.deepEqual(stale.map(({ path }) => path), [], 'run "make docs"');
});

Deno.test("docs/machine-server.md names every option with its default, and no other", () => {
  const rows = codeRows("docs/machine-server.md").filter(({ names }) => names[0]?.startsWith("-"));
  const documented = rows.map(({ names, cells }) => `${names[0]} = ${cells[0]}`);
  const wanted = Object.entries(commandLine.flags).map(([name, flag]) => {
    const text = "placeholder" in flag ? `-${name} ${flag.placeholder}` : `-${name}`;
    const isOn = "default" in flag && flag.default;
    return `${text} = ${flag.type === "string" ? "none" : isOn ? "on" : "off"}`;
  });
  assert.deepEqual(documented.toSorted(), [...wanted, "-h = "].toSorted());
  const examples = textOf("docs/machine-server.md");
  for (const name of Object.keys(commandLine.flags)) {
    assert.match(
      examples,
      new RegExp(`^machine-server .*-${name}\\b`, "m"),
      `an example of ${name}`,
    );
  }
});

/** Variables that are not for users: tests, the build, and what our programs pass one another. */
const INTERNAL = new Set([
  "MACHINE_FAULT_POINT",
  "MACHINE_PROCESS_TREE",
  "MACHINE_BUILD_STAMP",
  "MACHINE_AGENT_HANDLES_NEEDS_RESTART_CHECKING",
]);

Deno.test("docs name every variable that a program reads", () => {
  const docs: Readonly<Record<string, string>> = {
    server: "docs/machine-server.md",
    agent: "docs/machine-agent.md",
    cloud: "docs/machine-cloud.md",
  };
  const read: string[] = [];
  readEnvironment((name) => {
    read.push(name);
    return name === "HOME" ? "/home" : undefined;
  });
  const lacking = read.filter((name) =>
    name.startsWith("MACHINE_") && !INTERNAL.has(name) &&
    !textOf("docs/machine-server.md").includes(`\`${name}\``)
  );
  assert.deepEqual(lacking, []);
  for (const { path, text } of sources) {
    const doc = docs[path.split("/")[0] ?? ""];
    if (!doc || !path.endsWith(".ts") || path.endsWith("_test.ts")) continue;
    const all = textOf(doc) + textOf("docs/modules.md") + textOf("docs/packages.md");
    // A name in quotes is one that is read; others stand in messages.
    for (const [, name = ""] of text.matchAll(/["'](MACHINE_[A-Z_]+)["']/g)) {
      assert.ok(INTERNAL.has(name) || all.includes(name), `${doc} lacks ${name} of ${path}`);
    }
  }
});

Deno.test("docs/modules.md names every variable that modules get", () => {
  const given = moduleEnvironment({
    inherited: {},
    facts: { ...FACTS, tracing: true },
    module: {
      name: "m",
      moduleId: "a:m",
      executable: "/m",
      root: "/",
      env: {},
      tcpMode: false,
    },
    home: "/h",
    dataFolder: "/d",
    root: "/r",
    address: "/s",
  });
  const text = textOf("docs/modules.md");
  for (const name of Object.keys(given)) assert.ok(text.includes(`\`${name}\``), name);
  const documented = codeRows("docs/modules.md").flatMap(({ names, cells }) => [
    ...names,
    ...[...cells[0]?.matchAll(/`([^`]+)`/g) ?? []].map((match) => match[1] ?? ""),
  ]).filter((name) => /^(MACHINE|VIAM)_/.test(name));
  assert.deepEqual(documented.toSorted(), Object.keys(given).toSorted());
});

const FACTS = {
  primaryOrgId: "o",
  locationId: "l",
  machineId: "m",
  machinePartId: "p",
  machineFqdn: "f",
  apiKeyId: "i",
  apiKey: "k",
};

Deno.test("docs/training.md shows the configuration that its examples have", () => {
  const json = (path: string) => JSON.parse(textOf(`docs/examples/shapes/${path}`));
  for (const path of ["capture.json", "use.json"]) {
    assert.deepEqual(parseMachineConfig(json(path)).problems, [], path);
  }
  const [, block = "{}"] = /^```json\n([^]*?)^```$/m.exec(textOf("docs/training.md")) ?? [];
  const { packages, modules, services } = json("use.json");
  assert.deepEqual(JSON.parse(block), { packages, modules, services });
});

Deno.test("links between documents lead somewhere", () => {
  const paths = new Set(sources.map(({ path }) => path));
  const wrong: string[] = [];
  for (const { path, text } of sources.filter((file) => file.path.endsWith(".md"))) {
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : posix.join(dirname(path), file);
      const isThere = paths.has(target) || [...paths].some((name) => name.startsWith(`${target}/`));
      const leads = anchor === undefined || !target.endsWith(".md") || !paths.has(target) ||
        anchors(textOf(target)).has(anchor);
      if (!isThere || !leads) wrong.push(`${path}: ${link}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** As code hosts make them of headings. */
function anchors(text: string): Set<string> {
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading.toLowerCase().replace(/[^\w\- ]/g, "").trim().replaceAll(" ", "-")
    ),
  );
}

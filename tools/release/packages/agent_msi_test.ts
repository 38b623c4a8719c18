import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { makeAgentMsi } from "./agent_msi.ts";
import { productCode, UPGRADE_CODE } from "./msi_codes.ts";

const ignore = ignoreWithout(import.meta.url, "wixl");
const TIME = new Date(1_000_000_000_000);

async function inFolder(work: (dir: string, binary: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(join(dir, "binary"), "the program");
    await work(dir, join(dir, "binary"));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function ask(program: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Rows of a table by their first cell. */
async function table(msi: string, name: string): Promise<Map<string, string[]>> {
  const lines = (await ask("msiinfo", "export", msi, name)).trimEnd().split(/\r?\n/).slice(3);
  return new Map(
    lines.map((line) => line.split("\t")).map(([first = "", ...rest]) => [first, rest]),
  );
}

Deno.test({
  name: "makeAgentMsi() installs the program, has it install its service, and remove it",
  ignore,
  fn: () =>
    inFolder(async (dir, binary) => {
      const msi = await makeAgentMsi(binary, dir, { version: "1.2.3", time: TIME });
      assert.equal(msi, join(dir, "machine-agent-1.2.3.msi"));
      assert.match(await ask("msiinfo", "suminfo", msi), /^Template: x64;1033$/m);
      const properties = await table(msi, "Property");
      const facts = ["ProductVersion", "ProductCode", "UpgradeCode", "ALLUSERS", "REINSTALLMODE"];
      assert.deepEqual(facts.map((name) => properties.get(name)?.[0]), [
        ...["1.2.3", productCode("1.2.3"), UPGRADE_CODE, "1", "amus"],
      ]);
      await ask("msiextract", "--directory", join(dir, "out"), msi);
      const extracted = join(dir, "out", "Machine agent", "machine-agent.exe");
      assert.equal(await Deno.readTextFile(extracted), "the program");

      const folder = (await table(msi, "Directory")).get("INSTALLDIR");
      assert.deepEqual(folder, ["ProgramFiles64Folder", "Machine agent"]);

      // An executable of the package (0x12), not at once (0x400, 0x100 to undo), as the system
      // (0x800); 0x40: whatever it ends with.
      const actions = await table(msi, "CustomAction");
      assert.deepEqual(
        Object.fromEntries([...actions].map(([name, row]) => [name, row.slice(0, 3)])),
        {
          InstallService: [`${0x12 | 0xc00}`, "AgentExe", "--install"],
          RemoveService: [`${0x12 | 0xc00}`, "AgentExe", "--uninstall"],
          UndoService: [`${0x12 | 0xc00 | 0x100 | 0x40}`, "AgentExe", "--uninstall"],
        },
      );
      const sequence = await table(msi, "InstallExecuteSequence");
      const order = [...sequence].toSorted(([, a], [, b]) => Number(a[1]) - Number(b[1]))
        .map(([name]) => name);
      const wanted = [
        ...["LaunchConditions", "InstallInitialize", "RemoveExistingProducts", "RemoveService"],
        ...["RemoveFiles", "InstallFiles", "UndoService", "InstallService", "InstallFinalize"],
      ];
      assert.deepEqual(order.filter((name) => wanted.includes(name)), wanted);
      assert.equal(order.indexOf("RemoveExistingProducts"), order.indexOf("InstallInitialize") + 1);
      assert.equal(sequence.get("RemoveService")?.[0], 'REMOVE="ALL" AND NOT UPGRADINGPRODUCTCODE');
      const refusals = [...await table(msi, "LaunchCondition")].map(([condition]) => condition);
      assert.deepEqual(refusals, ["NOT WIX_DOWNGRADE_DETECTED"]);
    }),
});

Deno.test({
  name: "makeAgentMsi() gives the same bytes for the same content, at any time",
  ignore,
  fn: () =>
    inFolder(async (dir, binary) => {
      const facts = { version: "1.2.3", time: TIME };
      const first = await Deno.readFile(await makeAgentMsi(binary, dir, facts));
      assert.deepEqual(await Deno.readFile(await makeAgentMsi(binary, dir, facts)), first);
      const text = await ask("msiinfo", "suminfo", join(dir, "machine-agent-1.2.3.msi"));
      assert.match(text, /Created: Sun Sep\s+9 01:46:40 2001/);
    }),
});

Deno.test("makeAgentMsi() refuses a version that Windows cannot compare", async () => {
  await inFolder(async (dir, binary) => {
    const facts = { version: "1.2.3-rc.1", time: TIME };
    await assert.rejects(
      makeAgentMsi(binary, dir, facts),
      /no MSI package for version 1\.2\.3-rc\.1/,
    );
  });
});

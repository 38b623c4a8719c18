// The scripts for Windows, as far as PowerShell on any system can check.
import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../shared/test_tools/tools.ts";
import { ROOT } from "./install_rig.ts";
import { LeadingCloud, TESTDATA } from "./leading_cloud.ts";
import { runToEnd } from "./run_to_end.ts";

const noPwsh = ignoreBecause(
  import.meta.url,
  programPath("pwsh") === undefined ? "no PowerShell (pwsh) here" : undefined,
);

/** What tree-sitter's grammar of PowerShell finds in scripts; it needs no PowerShell. */
async function parse(files: string[]): Promise<{ errors: string[]; functions: string[] }[]> {
  const folder = join(ROOT, "tests", "e2e", "powershell_grammar");
  const { success, stdout, stderr } = await runToEnd(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--frozen", "--quiet"],
      ...["--config", join(folder, "deno.json"), join(folder, "parse.mjs"), ...files],
    ],
    cwd: folder,
  });
  assert.ok(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("install.ps1 and uninstall.ps1 are PowerShell, by its grammar", async () => {
  const wrong = await Deno.makeTempFile({ suffix: ".ps1" });
  try {
    await Deno.writeTextFile(wrong, "function X { if (1 -eq 2 { 'a' }\n");
    const names = ["install.ps1", "uninstall.ps1"].map((name) => join(ROOT, "install", name));
    const [install, uninstall, broken] = await parse([...names, wrong]);
    assert.deepEqual(install?.errors, []);
    assert.ok(install.functions.includes("Save-Agent"), `${install.functions}`);
    assert.deepEqual(uninstall?.errors, []);
    assert.notEqual(broken?.errors.length, 0, "it finds what is wrong");
  } finally {
    await Deno.remove(wrong);
  }
});

for (const name of ["install.ps1", "uninstall.ps1"]) {
  Deno.test({
    name: `${name} is sound PowerShell`,
    ignore: noPwsh,
    fn: async () => {
      const script = "$errors = $null; " +
        "$null = [System.Management.Automation.Language.Parser]::ParseFile(" +
        `'${join(ROOT, "install", name)}', [ref] $null, [ref] $errors); ` +
        "$errors; exit $errors.Count";
      const { code, stdout } = await runToEnd("pwsh", {
        args: ["-NoProfile", "-Command", script],
      });
      assert.equal(code, 0, new TextDecoder().decode(stdout));
    },
  });
}

Deno.test("install.ps1 fetches nothing by what follows every redirect", async () => {
  const script = await Deno.readTextFile(join(ROOT, "install", "install.ps1"));
  const commands = script.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  const asking = commands.filter((line) => /Invoke-(WebRequest|RestMethod)|WebClient/.test(line));
  assert.deepEqual(asking.filter((line) => !line.includes("-MaximumRedirection 0")), []);
  const own = commands.filter((line) => /HttpWebRequest|WebRequest\]::Create/.test(line));
  const followed = commands.filter((line) => line.includes(".AllowAutoRedirect = $false"));
  assert.equal(own.length, followed.length);
});

for (const isSafe of [true, false]) {
  const what = isSafe ? "follows redirects" : "follows no redirect from https to http";
  Deno.test({
    name: `Save-Address of install.ps1 ${what}`,
    ignore: noPwsh,
    fn: async () => {
      await using cloud = new LeadingCloud(isSafe, () => new Response("contents"));
      const folder = await Deno.makeTempDir();
      try {
        const file = join(folder, "file");
        const { code, stderr } = await runToEnd("pwsh", {
          args: [
            "-NoProfile",
            "-Command",
            callOf("Save-Address", `${cloud.url}/stable/file`, file),
          ],
          env: { SSL_CERT_FILE: join(TESTDATA, "ca.pem") },
        });
        assert.deepEqual(cloud.asked, [], "nothing is asked for without TLS");
        const said = new TextDecoder().decode(stderr);
        if (isSafe) assert.equal(await Deno.readTextFile(file), "contents", said);
        else {
          assert.notEqual(code, 0);
          assert.match(said, /leads to http:.*, which is not encrypted/);
        }
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "Get-VersionKey of install.ps1 sorts versions, candidates before their release",
  ignore: noPwsh,
  fn: async () => {
    const versions = ["0.9.0", "1.2.0-rc.2", "1.2.0-rc.10", "1.2.0", "1.10.0"];
    const keys: string[] = [];
    for (const version of versions) {
      const { stdout, stderr } = await runToEnd("pwsh", {
        args: ["-NoProfile", "-Command", callOf("Get-VersionKey", version)],
      });
      keys.push(new TextDecoder().decode(stdout).trim());
      assert.notEqual(keys.at(-1), "", new TextDecoder().decode(stderr));
    }
    assert.deepEqual(keys, [...keys].sort());
  },
});

Deno.test("install.ps1 checks what install.sh checks, before it changes anything", async () => {
  const [install] = await parse([join(ROOT, "install", "install.ps1")]);
  const checks = ["Computer", "NotOlder", "Room", "Signature", "Address"];
  for (const name of checks.map((check) => `Assert-${check}`)) {
    assert.ok(install?.functions.includes(name), name);
  }
  const script = await Deno.readTextFile(join(ROOT, "install", "install.ps1"));
  const body = script.slice(script.indexOf("function Save-Agent"));
  const at = (text: string) => {
    assert.ok(body.includes(text), text);
    return body.indexOf(text);
  };
  for (const check of ["Assert-Signature", "Assert-NotOlder", "Assert-Room $Dir"]) {
    assert.ok(at(check) < at("Save-Address $address $path"), check);
  }
  assert.ok(at("& $path --version") < at("& $agent --install"));
});

/** A script that calls one function of install.ps1, and runs nothing else of it. */
function callOf(name: string, ...args: string[]): string {
  return [
    "$ErrorActionPreference = 'Stop'; Set-StrictMode -Version 3.0",
    "$tree = [System.Management.Automation.Language.Parser]::ParseFile(" +
    `'${join(ROOT, "install", "install.ps1")}', [ref] $null, [ref] $null)`,
    "$found = $tree.Find({ param($node) $node -is " +
    `[System.Management.Automation.Language.FunctionDefinitionAst] -and $node.Name -eq '${name}' }, $false)`,
    ". ([ScriptBlock]::Create($found.Extent.Text))",
    `${name} ${args.map((arg) => `'${arg}'`).join(" ")}`,
  ].join("; ");
}

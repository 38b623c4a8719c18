import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { packageManagerFiles } from "./manifests.ts";

const BASE: string = "https://downloads.example/machine";
const sha = (digit: string): string => digit.repeat(64);
const SUMS = [
  `${sha("1")}  cli/1.2.3/linux/amd64/machine`,
  `${sha("2")}  cli/1.2.3/linux/arm64/machine`,
  `${sha("3")}  cli/1.2.3/windows/amd64/machine.exe`,
  `${sha("4")}  server/1.2.3/linux/amd64/machine-server`,
  `${sha("5")}  debian/machine_1.2.3_amd64.deb`,
  `${sha("6")}  windows/machine-agent-1.2.3.msi`,
  `${sha("7")}  agent/1.2.3/windows/amd64/machine-agent.exe`,
  "",
].join("\n");
const files = packageManagerFiles({
  sums: SUMS,
  version: "1.2.3",
  date: "2026-01-31",
  url: `${BASE}/`,
});
const ignore = ignoreWithout(import.meta.url, "ruby");

async function ruby(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("ruby", { args }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

async function inFolder(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(dir, path.replace("/", "-")), text);
    }
    await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("packageManagerFiles() has a file for what was built, and for nothing else", () => {
  assert.deepEqual(
    Object.keys(files).sort(),
    [
      ...["homebrew/machine-server.rb", "homebrew/machine.rb", "scoop/machine.json"],
      ...["Agent", "MachineAgent"].slice(1).flatMap((name) => [
        `winget/Machine.${name}.installer.yaml`,
        `winget/Machine.${name}.locale.en-US.yaml`,
        `winget/Machine.${name}.yaml`,
      ]).sort(),
      ...["installer", "locale.en-US"].map((part) => `winget/Machine.Machine.${part}.yaml`),
      "winget/Machine.Machine.yaml",
    ].sort(),
  );
});

Deno.test("packageManagerFiles() has every address with the sum of its file", () => {
  const paths = new Map(
    SUMS.trim().split("\n").map((line) => {
      const [sum = "", path = ""] = line.split("  ");
      return [`${BASE}/${path}`, sum];
    }),
  );
  const seen = new Set<string>();
  for (const [path, text] of Object.entries(files)) {
    const pairs = text.matchAll(
      /\b(?:url|InstallerUrl)"?:? "([^"$]+)",?\n\s*"?(?:sha256|InstallerSha256|hash)"?:? "([0-9a-fA-F]+)"/g,
    );
    for (const [, url = "", sum = ""] of pairs) {
      assert.equal(paths.get(url), sum.toLowerCase(), `${path}: ${url}`);
      seen.add(url);
    }
  }
  const wanted = [...paths.keys()].filter((url) => !/\.deb$|machine-agent\.exe$/.test(url));
  assert.deepEqual([...seen].sort(), wanted.sort());
});

Deno.test("packageManagerFiles() refuses an address that nobody can fetch from safely", () => {
  for (const url of ["http://downloads.example", "downloads.example", "https://a.example/?x=1"]) {
    const make = () => packageManagerFiles({ sums: SUMS, version: "1.2.3", date: "", url });
    assert.throws(make, /must look like https/);
  }
});

/** Homebrew's words, as far as a formula of ours says them: what it is given is printed. */
const HOMEBREW = `
class Formula
  def self.method_missing(name, *args, &block)
    puts [name, *args].map(&:to_s).join(" ")
    class_eval(&block) if block && %i[on_linux on_macos on_intel on_arm].include?(name)
  end
  def self.respond_to_missing?(*) = true
  def self.test(*) = puts("test")
end
load ARGV[0]
`;

Deno.test({
  name: "formulas of Homebrew are sound Ruby, with addresses for each processor",
  ignore,
  fn: () =>
    inFolder(async (dir) => {
      for (const name of ["machine", "machine-server"]) {
        assert.match(await ruby("-c", join(dir, `homebrew-${name}.rb`)), /Syntax OK/);
      }
      const said = await ruby("-e", HOMEBREW, join(dir, "homebrew-machine.rb"));
      assert.deepEqual(said.trim().split("\n"), [
        "desc Command line for a fleet of machines",
        `homepage ${BASE}`,
        "version 1.2.3",
        "license Apache-2.0",
        "depends_on linux",
        "on_linux",
        "on_arm",
        `url ${BASE}/cli/1.2.3/linux/arm64/machine`,
        `sha256 ${sha("2")}`,
        "on_intel",
        `url ${BASE}/cli/1.2.3/linux/amd64/machine`,
        `sha256 ${sha("1")}`,
        "test",
      ]);
    }),
});

/** What the schemas of WinGet's manifests, 1.10.0, require. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  version: ["DefaultLocale"],
  installer: ["Installers"],
  defaultLocale: ["PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"],
};

Deno.test({
  name: "manifests of WinGet are sound YAML with the fields of their schemas",
  ignore,
  fn: () =>
    inFolder(async (dir) => {
      const names = Object.keys(files).filter((path) => path.startsWith("winget/"));
      const code =
        'require "yaml"; require "json"; puts JSON.generate(ARGV.map { |f| YAML.load_file(f) })';
      const read = JSON.parse(
        await ruby("-e", code, ...names.map((path) => join(dir, path.replace("/", "-")))),
      ) as Record<string, unknown>[];
      for (const manifest of read) {
        const type = String(manifest["ManifestType"]);
        const always = ["PackageIdentifier", "PackageVersion", "ManifestType", "ManifestVersion"];
        for (const field of [...always, ...REQUIRED[type]!]) assert.ok(manifest[field], field);
        assert.match(String(manifest["PackageIdentifier"]), /^[^.\s]{1,32}(\.[^.\s]{1,32}){1,7}$/);
        assert.equal(manifest["PackageVersion"], "1.2.3");
      }
      const agent = read.find(({ ProductCode }) => ProductCode !== undefined);
      assert.equal(agent?.["InstallerType"], "wix");
      assert.deepEqual(agent["Installers"], [{
        Architecture: "x64",
        InstallerUrl: `${BASE}/windows/machine-agent-1.2.3.msi`,
        InstallerSha256: sha("6"),
      }]);
      assert.deepEqual(agent["AppsAndFeaturesEntries"], [
        { UpgradeCode: "{6E7B1C52-9D0C-4C0B-8E57-1A6D2F4B7C10}", InstallerType: "wix" },
      ]);
    }),
});

Deno.test("Scoop's manifest finds newer versions and their sums", () => {
  const manifest = JSON.parse(files["scoop/machine.json"]!) as Record<string, unknown>;
  assert.deepEqual(manifest["checkver"], { url: `${BASE}/stable.json`, jsonpath: "$.version" });
  assert.deepEqual(manifest["autoupdate"], {
    architecture: { "64bit": { url: `${BASE}/cli/$version/windows/amd64/machine.exe` } },
    hash: { url: `${BASE}/releases/$version/SHA256SUMS` },
  });
});

// Compiles all programs for all targets and tries what can be tried here: x64 natively, arm64 under
// an emulator, Windows and macOS as files. Takes minutes, so `make smoke` runs it and `make test` does not.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import process from "node:process";
import { addonFile, type AddonPlatform } from "../../tools/bundle/bundle.ts";
import { binaryName } from "../../tools/compile/compile.ts";
import { readElf } from "../../tools/compile/elf.ts";
import { payloadOf, readMacho } from "../../tools/compile/macho.ts";
import { machoProblems } from "../../tools/compile/macho_check.ts";
import { PAYLOAD_SECTION, peProblems, readPe } from "../../tools/compile/pe.ts";
import { hostTarget, type Target, targetByName, TARGETS } from "../../tools/compile/targets.ts";
import { type Program, programByName, PROGRAMS, ROOT } from "../../tools/programs.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";
import { ignoreBecause, missingTools, tellSkip } from "../../shared/test_tools/skips.ts";
import { noSystemdBecause } from "../e2e/systemd_computer.ts";
import { checkExtraction, checkImageFile, installImage, makeImage } from "./compiled_image.ts";
import { installFromRelease } from "./compiled_release.ts";
import { runImages } from "./compiled_containers.ts";
import { installPackages, MANAGERS } from "./compiled_packages.ts";
import { Clone } from "./clone.ts";
import { makeReleaseTwice } from "./made_release.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { signInFromBinary } from "./compiled_sign_in.ts";
import { deliverFromBinary } from "./compiled_notifications.ts";

const MAX_BYTES = 110e6;
/** More than bundle, addon and assets need. */
const EMBEDDED_BYTES = 20e6;
/** An emulated start compiles a megabyte of JavaScript by hand, so to speak: 15 s here. */
const RUN_LIMIT_MS = 600_000;
/** All programs for all targets, while other tests run. */
const COMPILE_LIMIT_MS = 3_600_000;

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

const READERS = { elf: readElf, pe: readPe, macho: readMacho };

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const cloud = programByName("cloud");
const arm64 = targetByName("linux-arm64");

await runAll();
const emulator = (await run(join(ROOT, "tools", "arm64_emulator.sh"), [])).stdout.trim().split(" ");
const emulated = emulateAll();

/** Compiles everything, in one process as `make dist` does. */
async function runAll(): Promise<void> {
  const compiler = join(ROOT, "tools", "compile", "main.ts");
  const { code, stdout, stderr } = await run(Deno.execPath(), [
    ...["run", "--allow-all", "--quiet", compiler, "--target", "all"],
  ], { limitMs: COMPILE_LIMIT_MS });
  process.stdout.write(`${stderr}${stdout}`);
  if (code !== 0) throw new Error("the programs could not be compiled, see above");
}

async function run(
  command: string,
  args: string[],
  { env = {}, limitMs = RUN_LIMIT_MS }: { env?: Record<string, string>; limitMs?: number } = {},
): Promise<Ran> {
  const signal = AbortSignal.timeout(limitMs);
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args,
    signal,
    stdin: "null",
    env,
  }).output();
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

const file = (program: Program, target: Target): string =>
  join(ROOT, "dist", binaryName(program, target));

async function addonBytes(platform: AddonPlatform): Promise<Buffer> {
  return Buffer.from(await Deno.readFile(addonFile(ROOT, platform)));
}

const versionArgs = (program: Program): string[] => [
  program.name === "machine-server" ? "-version" : "--version",
];

const bootstrapArgs = (data: string): string[] => [
  ...["bootstrap", "--data", data, "--org", "o", "--location", "l", "--machine", "m"],
];

/** All emulated runs, two at a time, begun before the first test requests one. */
function emulateAll(): { versions: Map<string, Promise<Ran>>; bootstrap: Promise<Ran> } {
  const [command = "", ...options] = emulator;
  const emulate = (program: Program, args: string[]): Promise<Ran> =>
    run(command, [...options, file(program, arm64), ...args]);
  const versions = new Map<string, Promise<Ran>>();
  let last: Promise<unknown> = Promise.resolve();
  for (const program of PROGRAMS) {
    const ran = last.then(() => emulate(program, versionArgs(program)));
    last = ran.catch(() => undefined);
    versions.set(program.name, ran);
  }
  const bootstrap = inTempDir((dir) => emulate(cloud, bootstrapArgs(dir)));
  return { versions, bootstrap };
}

async function inTempDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await Deno.makeTempDir();
  try {
    return await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function assertVersion({ code, stdout, stderr }: Ran): void {
  assert.equal(code, 0, stderr);
  assert.match(stdout + stderr, /\d+\.\d+\.\d+.*[0-9a-f]{7}/);
}

function assertBootstrapped({ code, stdout, stderr }: Ran): void {
  assert.equal(code, 0, stderr);
  const made = JSON.parse(stdout) as Record<string, unknown>;
  assert.ok(made["part_id"] && made["api_key"], stdout);
}

for (const program of PROGRAMS) {
  for (const target of TARGETS) {
    const name = binaryName(program, target);
    Deno.test(`${name} is for its platform, holds its own addon only, and is small enough`, async () => {
      const bytes = await Deno.readFile(file(program, target));
      assert.ok(bytes.length <= MAX_BYTES, `${(bytes.length / 1e6).toFixed(1)} MB`);
      const { machine } = READERS[target.format](bytes);
      assert.ok(target.name.endsWith(machine), machine);
      // What was embedded is at the end of the file, after about 95 MB of runtime.
      const embedded = Buffer.from(bytes.buffer, bytes.length - EMBEDDED_BYTES);
      for (const { addon } of TARGETS) {
        assert.equal(embedded.includes(await addonBytes(addon)), addon === target.addon, addon);
      }
    });
  }

  Deno.test(`${program.name} for Windows is a sound PE file with everything in its payload`, async () => {
    const bytes = await Deno.readFile(file(program, targetByName("windows-x64")));
    assert.deepEqual(peProblems(bytes), []);
    const section = readPe(bytes).sections.find(({ name }) => name === PAYLOAD_SECTION);
    assert.ok(section);
    const payload = Buffer.from(bytes.buffer, section.rawOffset, section.rawSize);
    const names = ["main.mjs", "better_sqlite3.node", ...program.assets.map(({ as }) => as)];
    for (const name of names) assert.ok(payload.includes(name), name);
  });

  for (const name of ["darwin-arm64", "darwin-x64"]) {
    Deno.test(`${program.name} for ${name} is a sound Mach-O file with everything in its payload`, async () => {
      const bytes = await Deno.readFile(file(program, targetByName(name)));
      assert.deepEqual(machoProblems(bytes), []);
      const { content } = payloadOf(bytes);
      const payload = Buffer.from(content.buffer, content.byteOffset, content.length);
      const names = ["main.mjs", "better_sqlite3.node", ...program.assets.map(({ as }) => as)];
      for (const name of names) assert.ok(payload.includes(name), name);
    });
  }

  Deno.test(`${program.name} for this machine prints its version`, async () => {
    const started = performance.now();
    const ran = await run(file(program, hostTarget()), versionArgs(program));
    const took = Math.round(performance.now() - started);
    process.stdout.write(`${program.name} answered in ${took} ms\n`);
    assertVersion(ran);
  });

  Deno.test(`${program.name} for arm64 prints its version`, async () => {
    const ran = await emulated.versions.get(program.name);
    assert.ok(ran);
    assertVersion(ran);
  });
}

Deno.test("machine-cloud for this machine opens its database", async () => {
  await inTempDir(async (dir) => {
    assertBootstrapped(await run(file(cloud, hostTarget()), bootstrapArgs(dir)));
  });
});

Deno.test("machine-cloud for arm64 opens its database", async () => {
  assertBootstrapped(await emulated.bootstrap);
});

Deno.test("machine-cloud for this machine serves its console and ends when told to", async () => {
  await inTempDir(async (data) => {
    const child = new Deno.Command(file(cloud, hostTarget()), {
      args: ["serve", "--listen", "127.0.0.1:0", "--data", data],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const limit = setTimeout(() => child.kill("SIGKILL"), RUN_LIMIT_MS);
    let output = "";
    let page: Response | undefined;
    for await (const chunk of child.stdout) {
      output += text(chunk);
      const url = /serving\s+\{"url":"(https?:\/\/[^"]+)"/.exec(output)?.[1];
      if (!url || page) continue;
      page = await fetch(url);
      assert.match(await page.text(), /<html/i);
      child.kill("SIGTERM");
    }
    const { code } = await child.status;
    clearTimeout(limit);
    assert.equal(page?.status, 200, output);
    assert.equal(code, 0, output);
  });
});

Deno.test("machine-cloud for this machine delivers a webhook and a mail", async () => {
  await inTempDir((dir) => deliverFromBinary(file(cloud, hostTarget()), dir));
});

Deno.test("machine for this machine signs in at a compiled cloud", async () => {
  await inTempDir((dir) =>
    signInFromBinary(
      file(programByName("cli"), hostTarget()),
      file(cloud, hostTarget()),
      dir,
    )
  );
});

Deno.test("builds of one commit are the same bytes wherever they are made, releases too", async (t) => {
  await inTempDir((dir) =>
    Clone.use(async (clone) => {
      await t.step("make agent elsewhere", async () => {
        const agent = programByName("agent");
        const again = Buffer.from(await Deno.readFile(await clone.make(agent)));
        assert.ok(again.equals(await Deno.readFile(file(agent, hostTarget()))), "they differ");
      });
      await t.step("make release is whole and the same each time", async () => {
        await makeReleaseTwice(clone, dir);
      });
      await t.step("make server at its tag builds it", async () => {
        await clone.git("commit", "--quiet", "--allow-empty", "-m", "later");
        await clone.git("tag", "v0.0.8");
        await clone.git("checkout", "--quiet", "v0.0.7");
        const server = await clone.make(programByName("server"));
        assert.match((await run(server, ["-version"])).stdout, /\b0\.0\.7\b/);
      });
    })
  );
});

for (const [kind, tool] of [["Debian", "dpkg"], ["RPM", "rpm"]] as const) {
  Deno.test({
    name: `the ${kind} packages are installed, upgraded and removed under systemd`,
    ignore: ignoreBecause(import.meta.url, noSystemdBecause() ?? missingTools(tool)),
    fn: () =>
      inTempDir((dir) =>
        installPackages((name) => file(programByName(name), hostTarget()), dir, MANAGERS[kind])
      ),
  });
}

Deno.test({
  name: "install.sh of a release folder ends with an online machine under systemd",
  ignore: ignoreBecause(import.meta.url, noSystemdBecause()),
  fn: () =>
    inTempDir((dir) => installFromRelease((name) => file(programByName(name), hostTarget()), dir)),
});

const imageOf = (target: Target) => ({
  binary: file(programByName("server"), target),
  platform: target.platform,
  key: SigningKey.read(secretKeyFile(), undefined),
});
const noImages = missingTools("squashfs-tools");

Deno.test({
  name: "application images hold the server, start, and are the same bytes when built again",
  ignore: ignoreBecause(import.meta.url, noImages),
  fn: () =>
    inTempDir(async (dir) => {
      const env = { MACHINE_IMAGE_CACHE: join(dir, "cache") };
      for (const target of [hostTarget(), arm64]) {
        const server = imageOf(target);
        const image = await makeImage(server, "1.0.0", dir);
        await checkImageFile(image, server.binary);
        const [command, ...options] = target === arm64 ? [...emulator, image] : [image];
        assert.equal(
          (await run(command!, [...options, "--appimage-version"], { env })).stdout,
          "Version: 1.0.0\n",
        );
        if (target === arm64) continue;
        assertVersion(await run(image, ["-version"], { env }));
        await checkExtraction(image, server.binary, dir);
        const first = Buffer.from(await Deno.readFile(image));
        assert.ok(first.equals(await Deno.readFile(await makeImage(server, "1.0.0", dir))));
      }
    }),
});

Deno.test({
  name: "an application image is installed, updated and removed under systemd",
  ignore: ignoreBecause(import.meta.url, noImages ?? noSystemdBecause()),
  fn: () => inTempDir((dir) => installImage(imageOf(hostTarget()), file(cloud, hostTarget()), dir)),
});

Deno.test("container images hold a cloud and a machine that is online, with a read-only root", async () => {
  const target = hostTarget();
  const made = [cloud, programByName("server")].map((program) => (
    { program, target, file: file(program, target) }
  ));
  const reason = await runImages(made);
  if (reason !== undefined) tellSkip(import.meta.url, reason);
});

Deno.test("the demo runs on the compiled programs up to a reading", async () => {
  await inTempDir(async (dir) => {
    const demo = join(ROOT, "tools", "run", "main.ts");
    const { code, stdout, stderr } = await run(
      Deno.execPath(),
      ["run", "--allow-all", "--quiet", demo, "--check", "--binaries", join(ROOT, "dist")],
      { env: { PORT: `${freePort(2)}`, MACHINE_DEV_DIR: join(dir, "demo") } },
    );
    assert.equal(code, 0, stderr);
    assert.ok("cpu_percent" in (JSON.parse(stdout) as Record<string, unknown>), stdout);
  });
});

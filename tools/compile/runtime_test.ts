import assert from "node:assert/strict";
import { join } from "node:path";
import { fetchPackage } from "./npm_package.ts";
import { digest, Pins } from "./pins.ts";
import { findRuntime, type RuntimeSources } from "./runtime.ts";
import { hostTarget, targetByName, TARGETS } from "./targets.ts";

const PINS = new Pins(`# comment
use toolchain deno 2.9.6
use fallback-compiler deno 2.7.11
npm some-package 1.0.0 00
file tool 1.0.0 11
`);

const sources: RuntimeSources = {
  root: "/nowhere",
  pins: PINS,
  deno: "/bin/deno",
  denortBin: undefined,
  reachable: () => Promise.resolve(true),
  allowFallback: false,
};
const linux = targetByName("linux-x64");

Deno.test("Pins finds versions and checksums", () => {
  assert.equal(PINS.versionFor("toolchain"), "2.9.6");
  assert.equal(PINS.tarball("some-package", "1.0.0"), "00");
  assert.equal(PINS.file("tool", "1.0.0"), "11");
});

Deno.test("Pins refuses what is not pinned, another version included", () => {
  assert.throws(() => PINS.tarball("some-package", "1.0.1"), /no line "npm some-package 1.0.1"/);
});

Deno.test("the repository pins every carrier and every cut runtime", async () => {
  const pins = new Pins(await Deno.readTextFile(join(import.meta.dirname ?? "", "../pins.txt")));
  for (const { carrier, triple } of TARGETS) {
    assert.match(pins.tarball(carrier.package, carrier.version), /^[0-9a-f]{128}$/);
    assert.match(
      pins.file(`denort-${triple}`, pins.versionFor("fallback-compiler")),
      /^[0-9a-f]{64}$/,
    );
  }
});

Deno.test("findRuntime() lets deno compile fetch its own when it can", async () => {
  assert.deepEqual(await findRuntime(linux, sources), {
    deno: "/bin/deno",
    denort: undefined,
    version: "2.9.6",
    notice: undefined,
  });
});

Deno.test("findRuntime() takes what the user brings without asking anyone", async () => {
  const runtime = await findRuntime(linux, {
    ...sources,
    denortBin: "/my/denort",
    reachable: () => Promise.reject(new Error("asked")),
  });
  assert.equal(runtime.denort, "/my/denort");
});

Deno.test("findRuntime() refuses another runtime for a release that was not told to", async () => {
  await assert.rejects(
    findRuntime(linux, { ...sources, reachable: () => Promise.resolve(false) }),
    /ALLOW_FALLBACK_RUNTIME=1/,
  );
});

Deno.test("fetchPackage() refuses a tarball that is not the pinned one, and unpacks nothing", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const pack = async (): Promise<string> => {
      const file = join(dir, "some-package.tgz");
      await Deno.writeTextFile(file, "changed on the way");
      return file;
    };
    await assert.rejects(
      fetchPackage(PINS, "some-package", "1.0.0", dir, pack),
      /some-package@1.0.0 is not what tools\/pins.txt expects/,
    );
    await assert.rejects(Deno.stat(join(dir, "package")));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("digest() gives hex", async () => {
  assert.equal(
    await digest("SHA-256", new Uint8Array()),
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  );
});

Deno.test("targetByName() lists what is allowed when there is no such target", () => {
  assert.throws(() => targetByName("amiga"), /linux-x64,linux-arm64,windows-x64/);
});

Deno.test("hostTarget() names this machine as dist/ does", () => {
  assert.equal(hostTarget({ os: "linux", arch: "aarch64" }).name, "linux-arm64");
  assert.equal(hostTarget({ os: "windows", arch: "x86_64" }).name, "windows-x64");
  assert.equal(hostTarget({ os: "darwin", arch: "aarch64" }).name, "darwin-arm64");
});

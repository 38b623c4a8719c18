import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { FakeClock } from "../../shared/time/fake_clock.ts";
import { AgentState } from "../state/agent_state.ts";
import { chooseServer, versionName } from "./server_choice.ts";
import { ServerVersions } from "./server_versions.ts";

const target = (url: string, version = "customURL") => ({ version, url, sha256: "" });

Deno.test("chooseServer() takes local programs and refuses the rest with a reason", () => {
  assert.deepEqual(chooseServer(undefined), { kind: "keep" });
  const local = chooseServer(target("file:///opt/my%20server"));
  assert(local.kind === "local");
  assert.equal(local.version.path, "/opt/my server");
  const refused: [string, string, RegExp][] = [
    ["https://host/x?token=1", "0.3.1", /machine-server 0\.3\.1 .*https:\/\/host, .*not supported/],
    ["http://host/x", "customURL", /downloaded from http:\/\/host/],
    ["", "1.0.0", /no usable address/],
    ["ftp://host/x", "1.0.0", /unknown kind/],
    ["file://host/x", "customURL", /file:\/\/\/PATH/],
  ];
  for (const [url, version, reason] of refused) {
    const choice = chooseServer(target(url, version));
    assert(choice.kind === "refused", url);
    assert.match(choice.reason, reason);
    assert(!choice.reason.includes("token"), "what is behind ? may be a secret");
  }
});

Deno.test("versionName() tells the address of a version chosen by it", () => {
  const version = { version: "customURL", url: "file:///a", path: "/a" };
  assert.equal(versionName(version), "customURL+file:///a");
  assert.equal(versionName({ ...version, version: "0.3.1" }), "0.3.1");
});

interface Bench extends AsyncDisposable {
  readonly dir: string;
  readonly versions: ServerVersions;
  readonly log: ReturnType<typeof memoryLogger>;
  program(name: string, mode?: number): Promise<ReturnType<typeof target>>;
}

async function bench(): Promise<Bench> {
  const dir = await Deno.makeTempDir();
  const log = memoryLogger();
  const state = AgentState.open(":memory:");
  const versions = new ServerVersions({
    state,
    binDir: dir,
    clock: new FakeClock(),
    log,
    os: "linux",
  });
  return {
    dir,
    versions,
    log,
    async program(name, mode = 0o755) {
      const path = join(dir, name);
      await Deno.writeTextFile(path, "#!/bin/sh\n", { mode });
      return target(pathToFileURL(path).href);
    },
    async [Symbol.asyncDispose]() {
      state.close();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

const ignore = Deno.build.os === "windows";

Deno.test({
  name: "install() links and remembers the version, and the next one in its place",
  ignore,
  fn: async () => {
    await using at = await bench();
    const link = join(at.dir, "machine-server");
    for (const name of ["one", "two", "two"]) {
      const wanted = await at.versions.wanted(await at.program(name));
      assert(wanted);
      assert.equal(await at.versions.install(wanted), link);
      assert.equal(await Deno.readLink(link), join(at.dir, name));
      assert.deepEqual(at.versions.installed, wanted);
    }
    assert.equal(at.log.messages("info").length, 2, "the same version again is not news");
  },
});

Deno.test({
  name: "wanted() keeps the installed version when the new one cannot be had",
  ignore,
  fn: async () => {
    await using at = await bench();
    const first = await at.versions.wanted(await at.program("one"));
    assert(first);
    await at.versions.install(first);
    for (
      const bad of [
        undefined,
        target("https://host/x"),
        target(pathToFileURL(join(at.dir, "missing")).href),
        target(pathToFileURL(at.dir).href),
        await at.program("plain", 0o644),
      ]
    ) {
      assert.deepEqual(await at.versions.wanted(bad), first);
      await at.versions.wanted(bad);
    }
    const errors = at.log.messages("error");
    assert.equal(errors.length, 4, at.log.text());
    assert.match(
      errors.join("\n"),
      /not supported.*\n.*cannot use .*missing: .*does not exist.*\n.*it is not a file.*\n.*chmod \+x/,
    );
    assert(errors.every((text) => text.endsWith("the installed machine-server stays")));
  },
});

Deno.test({
  name: "wanted() says what to set when there is nothing at all",
  ignore,
  fn: async () => {
    await using at = await bench();
    assert.equal(await at.versions.wanted(undefined), undefined);
    assert.match(at.log.messages("error").join(), /agent\.version_control\.machine-server/);
  },
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { StoreError } from "../../shared/base/store/sqlite.ts";
import { AgentState } from "./agent_state.ts";

async function withFolder(body: (path: string) => Promise<void> | void): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(join(folder, "agent.db"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const now = new Date("2026-01-02T03:04:05Z");

Deno.test("AgentState keeps everything over a restart", () =>
  withFolder((path) => {
    const first = AgentState.open(path);
    assert.equal(first.deviceConfig(), undefined);
    assert.equal(first.installed("machine-server"), undefined);
    assert.equal(first.serverProcess(), undefined);
    const tree = first.serverTree();
    assert.match(tree, /^[0-9a-f]{24}$/);
    const version = { version: "1.0.0", url: "file:///a", path: "/a" };
    const mark = { pid: 7, started: "boot:9", tree };
    first.saveDeviceConfig("{}", now);
    first.saveDeviceConfig('{"a":1}', now);
    first.saveInstalled("machine-server", version, now);
    first.saveServerProcess(mark);
    assert.equal(first.serverServed(), false);
    first.saveServerServed(true);
    first.close();

    const second = AgentState.open(path);
    assert.equal(second.deviceConfig(), '{"a":1}');
    assert.deepEqual({ ...second.installed("machine-server") }, version);
    assert.deepEqual(second.serverProcess(), mark);
    assert.equal(second.serverTree(), tree, "the mark stays the same");
    second.saveServerProcess(undefined);
    assert.equal(second.serverProcess(), undefined);
    assert.equal(second.serverTree(), tree);
    assert.equal(second.serverServed(), true);
    second.saveServerServed(false);
    assert.equal(second.serverServed(), false);
    second.close();
  }));

Deno.test("AgentState leaves a file that is no database as it is", () =>
  withFolder(async (path) => {
    await Deno.writeTextFile(path, "notes ".repeat(100));
    assert.throws(
      () => AgentState.open(path),
      (error) => error instanceof StoreError && error.message.includes(path),
    );
    assert.equal(await Deno.readTextFile(path), "notes ".repeat(100));
  }));

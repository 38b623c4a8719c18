import assert from "node:assert/strict";
import { join } from "node:path";
import { type MemoryLogger, memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AgentState } from "../../state/agent_state.ts";
import { allowVersion, LowestVersions } from "./lowest_versions.ts";

interface Rig {
  readonly state: AgentState;
  readonly log: MemoryLogger;
}

async function withVersions(
  body: (open: () => LowestVersions, dir: string, rig: Rig) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  await Deno.mkdir(join(dir, "etc"));
  const state = AgentState.open(":memory:");
  try {
    const options = { db: state.database, dir, clock: new FakeClock(), log: memoryLogger() };
    await body(() => new LowestVersions(options), dir, { state, log: options.log });
  } finally {
    state.close();
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("LowestVersions remembers the highest version that was trusted, by program", () =>
  withVersions(async (open) => {
    assert.equal(await open().of("machine-server", ""), undefined);
    assert.equal(await open().of("machine-server", "1.9.0"), "1.9.0");
    assert.equal(await open().of("machine-server", "1.10.0"), "1.10.0");
    for (const current of ["", "customURL", "customURL+file:///x", "1.9.0", "1.10.0-rc.1"]) {
      assert.equal(await open().of("machine-server", current), "1.10.0", current);
    }
    assert.equal(await open().of("machine-agent", "0.3.0"), "0.3.0");
  }));

Deno.test("LowestVersions goes down by a person's word, and up again with what is trusted", () =>
  withVersions(async (open, dir) => {
    await open().of("machine-server", "2.0.0");
    await allowVersion(dir, "machine-server", "1.5.0");
    assert.equal(await open().of("machine-agent", ""), undefined, "it is of the other program");
    assert.equal(await open().of("machine-server", "2.0.0"), "1.5.0");
    assert.equal(await open().of("machine-server", "2.0.0"), "1.5.0", "what runs says nothing");
    assert.deepEqual(await Array.fromAsync(Deno.readDir(join(dir, "etc"))), [], "it counts once");
    assert.equal(await open().of("machine-server", "1.7.0"), "1.7.0", "it went back");
    assert.equal(await open().of("machine-server", "2.0.0"), "2.0.0");
  }));

Deno.test("LowestVersions believes no file that others may write, and no other text", () =>
  withVersions(async (open, dir) => {
    await open().of("machine-server", "2.0.0");
    const file = join(dir, "etc", "agent-allows-machine-server");
    await allowVersion(dir, "machine-server", "1.0.0");
    await Deno.chmod(file, 0o666);
    assert.equal(await open().of("machine-server", "2.0.0"), "2.0.0");
    await Deno.writeTextFile(file, "everything");
    await Deno.chmod(file, 0o644);
    assert.equal(await open().of("machine-server", "2.0.0"), "2.0.0");
  }));

Deno.test("LowestVersions holds its rule on a disk that takes nothing, and says so once", () =>
  withVersions(async (open, dir, { state, log }) => {
    const versions = open();
    await versions.of("machine-server", "1.0.0");
    state.database.pragma("query_only = ON");
    await allowVersion(dir, "machine-server", "0.5.0");
    assert.equal(await versions.of("machine-server", "1.1.0"), "1.1.0");
    assert.equal(await versions.of("machine-server", "1.1.0"), "1.1.0");
    assert.equal(log.messages("error").length, 1);
    state.database.pragma("query_only = OFF");
    assert.equal(await versions.of("machine-server", "1.1.0"), "0.5.0", "the word was not lost");
  }));

import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { connect } from "../../shared/base/store/connect.ts";
import { copySqlite } from "../../shared/base/store/copy.ts";
import { StoreError } from "../../shared/base/store/sqlite.ts";
import { AgentState } from "./agent_state.ts";
import { openAgentState } from "./open_state.ts";
import { copiesOf, copyPath, dropCopies, restoreCopies, saveCopies } from "./state_copies.ts";

const now = new Date("2026-01-02T03:04:05Z");

async function withState(
  body: (path: string, log: ReturnType<typeof memoryLogger>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "open-state-" });
  try {
    const path = join(folder, "agent.db");
    const state = AgentState.open(path);
    state.saveDeviceConfig("before", now);
    state.close();
    await body(path, memoryLogger());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** As a newer version would leave it. */
function bringOn(path: string): void {
  const db = connect(path, undefined, false);
  db.exec("INSERT INTO schema_migrations VALUES (9999, 'newer', '')");
  db.exec("UPDATE device_config SET config = 'after'");
  db.close();
}

function configOf(state: AgentState): string | undefined {
  try {
    return state.deviceConfig();
  } finally {
    state.close();
  }
}

Deno.test("openAgentState() uses the copy from before a newer version", () =>
  withState(async (path, log) => {
    await copySqlite(path, copyPath(path, "2.0.0"));
    bringOn(path);
    await Deno.writeTextFile(copyPath(path, "1.5.0"), "a damaged copy");
    assert.equal(configOf(await openAgentState(path, log)), "before");
    assert.match(log.messages("warn")[0] ?? "", /from before an update is used again/);
    assert.equal(configOf(await openAgentState(path, log)), "before", "and goes on with it");
    assert.throws(() => AgentState.open(`${path}.newer`), /schema 9999/);
  }));

Deno.test("openAgentState() refuses a newer state of which there is no copy", () =>
  withState(async (path, log) => {
    bringOn(path);
    await assert.rejects(
      openAgentState(path, log),
      (error) => error instanceof StoreError && error.code === "newer-schema",
    );
  }));

Deno.test("openAgentState() puts a damaged state aside and begins anew", () =>
  withState(async (path, log) => {
    await Deno.writeTextFile(path, "no database ".repeat(1_000));
    assert.equal(configOf(await openAgentState(path, log)), undefined);
    assert.match(await Deno.readTextFile(`${path}.damaged`), /^no database/);
    assert.match(log.messages("error")[0] ?? "", /damaged and was moved aside/);
  }));

Deno.test("restoreCopies() keeps what was written when the schema stayed the same", () =>
  withState(async (path, log) => {
    await saveCopies([path], "2.0.0", log);
    const state = AgentState.open(path);
    state.saveDeviceConfig("after", now);
    state.close();
    await restoreCopies([path], "2.0.0", log);
    assert.equal(configOf(AgentState.open(path)), "after");
    bringOn(path);
    await restoreCopies([path], "1.0.0", log);
    assert.throws(() => AgentState.open(path), /schema 9999/, "there is no copy of that version");
    await restoreCopies([path], "2.0.0", log);
    assert.equal(configOf(AgentState.open(path)), "before");
  }));

Deno.test("saveCopies() leaves out what is damaged or not there", () =>
  withState(async (path, log) => {
    const none = `${path}.none`;
    await Deno.writeTextFile(path, "no database ".repeat(1_000));
    await saveCopies([path, none], "2.0.0", log);
    assert.equal(log.messages("warn").length, 1);
    const names = [...Deno.readDirSync(join(path, ".."))].map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.includes(".before-")), []);
  }));

Deno.test("saveCopies() leaves out what the old version has for itself while that runs", () =>
  withState(async (path, log) => {
    const alone = AgentState.open(path, { isAlone: true });
    alone.saveDeviceConfig("alone", now);
    await saveCopies([path], "2.0.0", log, { isInUse: true });
    assert.equal(copiesOf(path).length, 0);
    alone.close();
    await saveCopies([path], "2.0.0", log, { isInUse: true });
    assert.equal(configOf(AgentState.open(copyPath(path, "2.0.0"))), "alone");
  }));

Deno.test("dropCopies() removes the copies for every version", () =>
  withState(async (path, log) => {
    await saveCopies([path], "2.0.0", log);
    await saveCopies([path], "../../customURL", log);
    await dropCopies([path]);
    const names = [...Deno.readDirSync(join(path, ".."))].map(({ name }) => name);
    assert.deepEqual(names, ["agent.db"]);
  }));

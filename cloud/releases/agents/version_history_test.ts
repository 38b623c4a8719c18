import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { ConsoleService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import {
  AgentStatusSchema,
  ProgramStatus_State as State,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { testMachine } from "../catalogue/releases_testing.ts";
import { apiKey, TestCloud } from "../../serve/cloud_testing.ts";
import { KEPT_VERSIONS, VersionHistory } from "./version_history.ts";

Deno.test("ListInstalledVersions() tells updates and rollbacks, also after a restart", async () => {
  const clock = new FakeClock();
  const start = clock.now().getTime();
  await using cloud = await TestCloud.open({ clock });
  const machine = await testMachine(cloud, "one", "stable");
  const list = async () => {
    const { versions } = await cloud.client(ConsoleService, apiKey(machine.made))
      .listInstalledVersions({ partId: machine.made.part_id });
    return versions.map(({ program, version, previous, at, isRollback, rollbackReason }) => [
      ...[program, version, previous, ((at && timestampMs(at)) ?? NaN) - start],
      ...(isRollback ? [rollbackReason] : []),
    ]);
  };
  assert.deepEqual(await list(), []);
  const report = (installed: string, more: Parameters<typeof machine.report>[0] = {}) =>
    machine.report({ installed, running: installed, state: State.IDLE, ...more });
  await report("1.0.0", { lastChanged: timestampFromMs(start - 5_000) });
  await report("1.0.0");
  await clock.advance(60_000);
  await report("2.0.0", { lastChanged: timestampFromMs(start + 3_600_000) });
  await clock.advance(60_000);
  await report("1.0.0", {
    lastRollback: { from: "2.0.0", to: "1.0.0", reason: "it crashed", at: timestampFromMs(start) },
  });
  const told = [
    ["machine-server", "1.0.0", "2.0.0", 120_000, "it crashed"],
    ["machine-server", "2.0.0", "1.0.0", 60_000],
    ["machine-server", "1.0.0", "", -5_000],
  ];
  assert.deepEqual(await list(), told);
  const next = new VersionHistory(cloud.folder.database.queries, clock);
  const status = create(AgentStatusSchema, { server: { installed: "1.0.0" } });
  await next.note(machine.made.part_id, status);
  assert.deepEqual(await list(), told);
  for (let at = 0; at < KEPT_VERSIONS; at++) await report(`3.0.${at}`);
  const kept = await list();
  assert.equal(kept.length, KEPT_VERSIONS);
  assert.equal(kept[0]?.[1], `3.0.${KEPT_VERSIONS - 1}`);
});

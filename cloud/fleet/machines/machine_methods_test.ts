import assert from "node:assert/strict";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { AuthenticationType } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";

const HOST = { components: [{ name: "host", api: "rdk:component:sensor", model: "host" }] };

Deno.test("UpdateRobotPart() keeps the text with its key order and a revision with who", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const text = '{ "services": [],\n "components": [], "debug": true }';

  const { part } = await app.updateRobotPart({ id: made.part_id, robotConfigJson: text });
  const read = await app.getRobotPart({ id: made.part_id });
  const { history } = await app.getRobotPartHistory({ id: made.part_id });

  assert.equal(part?.robotConfigJson, text);
  assert.equal(read.configJson, text);
  assert.deepEqual(read.part?.robotConfig, { services: [], components: [], debug: true });
  assert.equal(history.length, 1);
  assert.equal(history[0]?.editedBy?.type, AuthenticationType.API_KEY);
  assert.equal(history[0]?.editedBy?.value, made.api_key_id);
  assert.deepEqual(history[0]?.old?.robotConfig, {});
  assert.deepEqual(history[0]?.when, read.part?.lastUpdated);
});

Deno.test("UpdateRobotPart() makes no revision when the same is saved again", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);

  const first = await app.updateRobotPart({ id: made.part_id, robotConfig: HOST });
  const again = await app.updateRobotPart({ id: made.part_id, robotConfig: HOST });
  const asText = await app.updateRobotPart({
    id: made.part_id,
    robotConfigJson: JSON.stringify(HOST, null, 4),
  });
  const { history } = await app.getRobotPartHistory({ id: made.part_id });

  assert.deepEqual(again.part?.lastUpdated, first.part?.lastUpdated);
  assert.deepEqual(asText.part?.lastUpdated, first.part?.lastUpdated);
  assert.equal(history.length, 1);
});

Deno.test("UpdateRobotPart() tells path, found and allowed when the configuration is wrong", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ config: HOST });
  const app = cloud.app(made);
  const wrong = { components: [{ name: "a b!", api: "rdk:component:sensor", model: "fake" }] };

  const { code, message } = await failure(
    app.updateRobotPart({ id: made.part_id, robotConfig: wrong }),
  );
  const { part } = await app.getRobotPart({ id: made.part_id });

  assert.equal(code, Code.InvalidArgument);
  assert.match(message, /components\[0\]\.name: .*found: "a b!".*allowed: /);
  assert.deepEqual(part?.robotConfig, HOST);
});

Deno.test("UpdateRobotPart() tells keys that nobody knows in the machine's log", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const robotConfig = { ...HOST, agent: { version_control: { "machine-agent": "stable" } } };

  const { part } = await app.updateRobotPart({ id: made.part_id, robotConfig });
  const { logs } = await app.getRobotPartLogs({ id: made.part_id });

  assert.deepEqual(part?.robotConfig, robotConfig);
  assert.deepEqual(logs.map(({ level, loggerName, message }) => [level, loggerName, message]), [[
    "warn",
    "app.config",
    "configuration: agent.version_control.machine-agent: this key is not known; " +
    'did you mean agent? (found: "stable")',
  ]]);
});

Deno.test("UpdateRobotPart() refuses text that is no JSON object", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  for (const text of ["{", "[]", "null", '"x"', ""]) {
    const { code } = await failure(
      app.updateRobotPart({ id: made.part_id, robotConfigJson: text }),
    );
    assert.equal(code, Code.InvalidArgument, text);
  }
});

Deno.test("UpdateRobotPart() refuses a save over a state the caller has not seen", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const seen = (await app.getRobotPart({ id: made.part_id })).part?.lastUpdated;
  assert.ok(seen);
  const id = made.part_id;

  const mine = await app.updateRobotPart({ id, robotConfig: HOST, lastKnownUpdate: seen });
  const late = await failure(app.updateRobotPart({ id, robotConfig: {}, lastKnownUpdate: seen }));
  const { lastUpdated } = mine.part ?? {};
  assert.ok(lastUpdated && timestampMs(lastUpdated) > timestampMs(seen));
  const fresh = await app.updateRobotPart({ id, robotConfig: {}, lastKnownUpdate: lastUpdated });

  assert.equal(late.code, Code.FailedPrecondition);
  assert.deepEqual(fresh.part?.robotConfig, {});
});

Deno.test("UpdateRobotPart() sees a stale save also when the clock stands still", async () => {
  await using cloud = await TestCloud.open({ clock: new FakeClock() });
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const id = made.part_id;
  const seen = (await app.getRobotPart({ id })).part?.lastUpdated;
  assert.ok(seen);

  await app.updateRobotPart({ id, robotConfig: HOST, lastKnownUpdate: seen });
  const late = await failure(app.updateRobotPart({ id, robotConfig: {}, lastKnownUpdate: seen }));

  assert.equal(late.code, Code.FailedPrecondition);
});

Deno.test("UpdateRobotPart() renames a part and leaves its address as it is", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ config: HOST });
  const app = cloud.app(made);

  const { part } = await app.updateRobotPart({ id: made.part_id, name: "renamed" });
  const wrong = await failure(app.updateRobotPart({ id: made.part_id, name: "no good!" }));

  assert.equal(part?.name, "renamed");
  assert.equal(part?.fqdn, made.fqdn);
  assert.deepEqual(part?.robotConfig, HOST);
  assert.equal(wrong.code, Code.InvalidArgument);
  assert.match(wrong.message, /^name: "no good!"/);
});

Deno.test("UpdateRobotPart() keeps every state when many save at once", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const saves = Array.from({ length: 20 }, (_, n) =>
    app.updateRobotPart({
      id: made.part_id,
      robotConfig: { components: [{ name: `s${n}`, api: "rdk:component:sensor", model: "fake" }] },
    }));

  await Promise.all(saves);
  const { history } = await app.getRobotPartHistory({ id: made.part_id, pageLimit: 100n });

  assert.equal(history.length, 20);
  const times = history.map(({ when }) => when && timestampMs(when));
  assert.deepEqual(times, [...times].sort((a, b) => (b ?? 0) - (a ?? 0)));
  assert.equal(new Set(times).size, 20);
});

Deno.test("GetRobotPartHistory() pages newest first, and by time", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const id = made.part_id;
  for (let n = 0; n < 5; n++) await app.updateRobotPart({ id, robotConfig: { n } });

  const first = await app.getRobotPartHistory({ id, pageLimit: 2n });
  const second = await app.getRobotPartHistory({
    id,
    pageLimit: 2n,
    pageToken: first.nextPageToken,
  });
  const third = await app.getRobotPartHistory({
    id,
    pageLimit: 2n,
    pageToken: second.nextPageToken,
  });
  const olds = [first, second, third].map(({ history }) =>
    history.map((entry) => entry.old?.robotConfig)
  );
  assert.deepEqual(olds, [[{ n: 3 }, { n: 2 }], [{ n: 1 }, { n: 0 }], [{}]]);
  assert.equal(third.nextPageToken, "");

  const none = await app.getRobotPartHistory({ id, end: timestampFromMs(1) });
  assert.deepEqual(none.history, []);
  const wrong = await failure(app.getRobotPartHistory({ id, pageToken: "nonsense" }));
  assert.equal(wrong.code, Code.InvalidArgument);
});

Deno.test("GetRobotPart() shows a part its own configuration and nothing of others", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ config: HOST });
  const other = await cloud.bootstrap({ machine: "other" });
  const self = cloud.client(AppService, partSecret(made));

  const { part } = await self.getRobotPart({ id: made.part_id });
  const foreign = await failure(self.getRobotPart({ id: other.part_id }));
  const save = await failure(self.updateRobotPart({ id: made.part_id, robotConfig: {} }));

  assert.deepEqual(part?.robotConfig, HOST);
  assert.equal(foreign.code, Code.NotFound);
  assert.equal(save.code, Code.PermissionDenied);
});

Deno.test("part_revisions refuses a change of what was saved", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  const change = cloud.folder.database.queries.updateTable("part_revisions")
    .set({} as never).set("config" as never, "{}" as never).execute();
  await assert.rejects(change, /never changed/);
});

import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { ConfigurationService } from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { MOST_CONFIG_VALUES } from "../configuration/config_document.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

const sensor = (name: string) => ({
  ...{ name, api: "rdk:component:sensor", model: "rdk:builtin:fake" },
});

Deno.test("saves while others restore and a fragment goes out: each is one whole revision", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const history = cloud.client(ConfigurationService, apiKey(made));
  const { fragment } = await app.createFragment({
    ...{ name: "f", organizationId: made.org_id, config: { debug: false } },
  });
  const id = fragment?.id ?? "";
  await app.updateRobotPart({ id: made.part_id, robotConfig: { fragments: [id] } });
  const ends = await Promise.allSettled([
    ...[1, 2, 3].map((n) =>
      app.updateRobotPart({
        ...{ id: made.part_id, robotConfig: { fragments: [id], components: [sensor(`s${n}`)] } },
      })
    ),
    ...[1n, 2n].map((number) => history.restoreRevision({ partId: made.part_id, number })),
    app.updateFragment({ id, config: { debug: true } }),
  ]);
  assert.deepEqual(ends.map(({ status }) => status), ends.map(() => "fulfilled"));
  await cloud.services.fragmentRollouts.finish();

  const { revisions } = await history.listRevisions({ partId: made.part_id });
  const numbers = revisions.map(({ number }) => Number(number));
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => numbers.length - i),
    "no number twice, none left out",
  );
  const { part } = await app.getRobotPart({ id: made.part_id });
  const { config } = await cloud.client(RobotService, partSecret(made))
    .config({ id: made.part_id });
  assert.equal(config?.revision, revisions[0]?.revision);
  const includes = JSON.stringify(part?.robotConfig).includes(id);
  assert.equal(config?.debug, includes, "what includes the fragment has its newest state");
});

Deno.test("a deleted machine that comes online is refused, and nothing is kept of it", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const robot = cloud.client(RobotService, partSecret(made));
  await robot.config({ id: made.part_id });
  const watch = cloud.client(MachineService, partSecret(made)).watch({ partId: made.part_id });
  const events = watch[Symbol.asyncIterator]();
  await events.next();
  await app.deleteRobot({ id: made.machine_id });
  const ended = (async () => {
    while (!(await events.next()).done);
  })();
  assert.equal((await failure(ended)).code, Code.Unauthenticated, "its stream ends");
  const calls = {
    config: () => robot.config({ id: made.part_id }),
    log: () => robot.log({ id: made.part_id, logs: [{ level: "info", message: "still here" }] }),
    restart: () => robot.needsRestart({ id: made.part_id }),
  };
  for (const [name, call] of Object.entries(calls)) {
    assert.equal((await failure(call())).code, Code.Unauthenticated, name);
  }
  cloud.forgetTokens();
  assert.equal((await failure(robot.config({ id: made.part_id }))).code, Code.Unauthenticated);
  const { queries } = cloud.folder.database;
  for (const table of ["parts", "part_secrets", "part_revisions", "part_presence"] as const) {
    assert.deepEqual(await queries.selectFrom(table).selectAll().execute(), [], table);
  }
});

Deno.test("odd names are refused by name, or kept as they are", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const odd = [
    "",
    " ",
    "a b",
    "a/b",
    "../x",
    "a.b",
    "-a",
    "ä",
    "名",
    "a\u0000",
    "a\n",
    "x".repeat(61),
  ];
  for (const name of odd) {
    const calls = {
      machine: () => app.newRobot({ name, location: made.location_id }),
      part: () => app.newRobotPart({ robotId: made.machine_id, partName: name }),
    };
    for (const [what, call] of Object.entries(calls)) {
      assert.equal((await failure(call())).code, Code.InvalidArgument, `${what} ${name}`);
    }
  }
  const titles = ["ä b/c", "名前", "'; DROP TABLE machines; --", "<b>x</b>", "a\u202eb", "%_\\"];
  for (const name of titles) {
    const { location } = await app.createLocation({ organizationId: made.org_id, name });
    assert.equal(location?.name, name);
    const { location: renamed } = await app.updateLocation({
      ...{ locationId: location!.id, name: `${name}!` },
    });
    assert.equal(renamed?.name, `${name}!`);
  }
});

Deno.test("a configuration of 5 MB is refused with its size, one of 10,000 resources is saved", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const large = JSON.stringify({ notes: "x".repeat(5 * 1024 * 1024) });
  const { code, message } = await failure(
    app.updateRobotPart({ id: made.part_id, robotConfigJson: large }),
  );
  assert.equal(code, Code.InvalidArgument);
  assert.match(message, /5242892 characters; 4194304 are allowed/);
  const components = Array.from({ length: 10_000 }, (_, n) => sensor(`s${n}`));
  const robotConfigJson = JSON.stringify({ components });
  await app.updateRobotPart({ id: made.part_id, robotConfigJson });
  const { config } = await cloud.client(RobotService, partSecret(made))
    .config({ id: made.part_id });
  assert.equal(config?.components.length, 10_000);
  const { history } = await app.getRobotPartHistory({ id: made.part_id });
  assert.equal(history.length, 1);
});

Deno.test("a configuration of more values than a save takes is refused, however it comes", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const notes = (values: number) => ({ notes: new Array<number>(values).fill(1) });
  const values = notes(MOST_CONFIG_VALUES);
  const saves = {
    struct: () => app.updateRobotPart({ id: made.part_id, robotConfig: values }),
    text: () => app.updateRobotPart({ id: made.part_id, robotConfigJson: JSON.stringify(values) }),
    fragment: () => app.createFragment({ name: "f", organizationId: made.org_id, config: values }),
  };
  for (const [what, save] of Object.entries(saves)) {
    const { code, message } = await failure(save());
    assert.equal(code, Code.InvalidArgument, what);
    assert.match(message, /has more than 65536 values/, what);
  }
  await app.updateRobotPart({ id: made.part_id, robotConfig: notes(MOST_CONFIG_VALUES - 2) });
  const { fragment } = await app.createFragment({
    ...{ name: "f", organizationId: made.org_id, config: { components: [sensor("s")] } },
  });
  const id = fragment?.id ?? "";
  // Each of the three gets the list.
  const mods = [{ $set: { "components.s.attributes": notes(50_000) } }];
  const robotConfig = {
    fragments: ["a", "b", "c"].map((prefix) => ({ id, prefix })),
    fragment_mods: [{ fragment_id: id, mods }],
  };
  const { message } = await failure(app.updateRobotPart({ id: made.part_id, robotConfig }));
  assert.match(message, /with its fragments has more than 131072 values/);
});

Deno.test("lists of machines go on past one slice, each machine once", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const row = await queries.selectFrom("machines").selectAll().executeTakeFirstOrThrow();
  const copies = Array.from({ length: 1_200 }, (_, n) => ({
    ...{ ...row, id: crypto.randomUUID(), name: `m${n}` },
  }));
  for (let at = 0; at < copies.length; at += 200) {
    await queries.insertInto("machines").values(copies.slice(at, at + 200)).execute();
  }
  const app = cloud.app(made);
  const lists = [
    await app.listRobots({ locationId: made.location_id }),
    await app.listRobotsForOrg({ orgId: made.org_id }),
    await app.listRobotsForLocations({ locationIds: [made.location_id] }),
  ];
  for (const { robots } of lists) {
    assert.equal(new Set(robots.map(({ id }) => id)).size, 1_201);
    assert.equal(robots.length, 1_201);
  }
});

import assert from "node:assert/strict";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { FragmentErrorType, FragmentVisibility } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { ConfigurationService } from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { ConsoleService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { AgentDeviceService } from "../../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { TriggerService } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

const sensor = (name: string, attributes = {}) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  attributes,
});

/** A cloud with one machine that includes a fragment of one sensor. */
async function withFragment(config = { components: [sensor("a")] }) {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { fragment } = await app.createFragment({
    name: "base",
    config,
    organizationId: made.org_id,
  });
  const id = fragment?.id ?? "";
  await app.updateRobotPart({ id: made.part_id, robotConfig: { fragments: [{ id }] } });
  return { cloud, made, app, id };
}

function received(cloud: TestCloud, made: BootstrapResult) {
  return cloud.client(RobotService, partSecret(made)).config({ id: made.part_id });
}

Deno.test("a machine gets what its fragments say, and what they say after a change", async () => {
  const { cloud, made, app, id } = await withFragment();
  await using _ = cloud;
  const first = await received(cloud, made);
  await app.updateFragment({ id, config: { components: [sensor("b", { x: 1 })] } });
  const second = await received(cloud, made);
  const { part } = await app.getRobotPart({ id: made.part_id });
  const { history } = await app.getRobotPartHistory({ id: made.part_id });
  const revisions = await cloud.client(ConfigurationService, apiKey(made))
    .listRevisions({ partId: made.part_id });

  assert.deepEqual(first.config?.components.map(({ name }) => name), ["a"]);
  assert.deepEqual(second.config?.components.map(({ name }) => name), ["b"]);
  assert.notEqual(first.config?.revision, second.config?.revision);
  assert.deepEqual(part?.robotConfig, { fragments: [{ id }] }, "the saved text stays");
  assert.equal(history.length, 2);
  assert.deepEqual(revisions.revisions.map((each) => each.savedHow), ["fragment", "api", "api"]);
  assert.deepEqual(revisions.revisions[0]?.added, ["components.b"]);
  assert.deepEqual(revisions.revisions[0]?.removed, ["components.a"]);

  const compare = async (from: bigint, to: bigint) =>
    (await cloud.client(ConfigurationService, apiKey(made))
      .compareRevisions({ partId: made.part_id, from, to })).text.split("\n");
  assert.deepEqual(await compare(2n, 3n), [
    "- components.a (by a fragment)",
    "+ components.b (by a fragment)",
  ]);
  assert.deepEqual(await compare(3n, 2n), [
    "+ components.a (by a fragment)",
    "- components.b (by a fragment)",
  ]);
  await app.updateFragment({ id, config: { components: [sensor("b", { x: 2 })] } });
  await received(cloud, made);
  assert.deepEqual(await compare(2n, 0n), [
    "- components.a (by a fragment)",
    "+ components.b (by a fragment)",
  ]);
  assert.deepEqual(await compare(3n, 0n), ["~ components.b (by a fragment)"]);
});

Deno.test("a fragment is pinned by revision and followed by tag", async () => {
  const { cloud, made, app, id } = await withFragment();
  await using _ = cloud;
  await app.setFragmentTag({ fragmentId: id, tag: "stable", revision: "1" });
  await app.updateRobotPart({
    id: made.part_id,
    robotConfig: { fragments: [{ id, version: "stable" }] },
  });
  await app.updateFragment({ id, config: { components: [sensor("b")] } });
  const before = await received(cloud, made);
  const { tags } = await app.setFragmentTag({ fragmentId: id, tag: "stable", revision: "2" });
  const after = await received(cloud, made);
  const pinned = await app.getFragment({ id, version: "1" });
  const usage = await app.getFragmentUsage({ fragmentId: id });
  await app.deleteFragmentTag({ fragmentId: id, tag: "stable" });
  const orphaned = await received(cloud, made);
  const { configWarnings } = await cloud.client(ConsoleService, apiKey(made))
    .getPartLiveStatus({ partId: made.part_id });

  assert.equal(before.config?.components[0]?.name, "a");
  assert.equal(after.config?.components[0]?.name, "b");
  assert.deepEqual(tags.map(({ tag, revision }) => [tag, revision]), [["stable", "2"]]);
  assert.equal(pinned.fragment?.revision, "1");
  assert.deepEqual(pinned.revisions.map(({ revision }) => revision), ["2", "1"]);
  assert.deepEqual(usage.versionUsages.map(({ version, machines }) => [version, machines]), [
    ["2", 1],
  ]);
  assert.equal(orphaned.config?.components[0]?.name, "b", "what it had stays");
  assert.match(configWarnings[0] ?? "", /no revision or tag "stable"/);
  for (const tag of ["v1", "1a", "", "A", "x".repeat(61)]) {
    const refused = await failure(app.setFragmentTag({ fragmentId: id, tag, revision: "1" }));
    assert.equal(refused.code, Code.InvalidArgument, tag);
  }
});

Deno.test("a save is checked with the fragments in it", async () => {
  const { cloud, made, app, id } = await withFragment();
  await using _ = cloud;
  const save = (robotConfig: Record<string, object>) =>
    failure(app.updateRobotPart({ id: made.part_id, robotConfig: robotConfig as never }));
  const needs = (name: string) => ({
    fragments: [id],
    components: [{ ...sensor("own"), depends_on: [name] }],
  });
  await app.updateRobotPart({ id: made.part_id, robotConfig: needs("a") });

  const double = await save({ fragments: [id], components: [sensor("a", { x: 1 })] });
  const missing = await save(needs("nope"));
  const unknown = await save({ fragments: ["none"] });
  assert.match(missing.message, /depends_on\[0\]: there is no component/);
  assert.match(double.message, /components\[\d\].*name/);
  assert.match(unknown.message, /there is no fragment "none"/);
  for (const { code } of [double, missing, unknown]) assert.equal(code, Code.InvalidArgument);
});

Deno.test("agents, triggers and jobs see what is in a fragment", async () => {
  const config = {
    components: [sensor("a")],
    jobs: [{ name: "j", schedule: "1h", resource: "a", method: "GetReadings" }],
    maintenance: { sensor_name: "rdk:component:sensor/a", maintenance_allowed_key: "ok" },
    agent: { advanced_settings: { debug: true } },
    triggers: [{
      name: "t",
      event: { type: "part_online" },
      notifications: [{ type: "webhook", value: "https://example.com/x" }],
    }],
  };
  const { cloud, made } = await withFragment(config);
  await using _ = cloud;
  const message = await received(cloud, made);
  const agent = await cloud.client(AgentDeviceService, partSecret(made))
    .deviceAgentConfig({ id: made.part_id });
  const { triggers } = await cloud.client(TriggerService, apiKey(made))
    .listTriggers({ partId: made.part_id });

  assert.equal(message.config?.jobs[0]?.name, "j");
  assert.equal(message.config?.maintenance?.sensorName?.name, "a");
  assert.deepEqual(agent.advancedSettings, { debug: true });
  assert.deepEqual(triggers.map(({ name }) => name), ["t"]);
});

Deno.test("fragments that include one another are refused, and nesting too deep", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const make = async (name: string, fragments: string[]) =>
    (await app.createFragment({ name, organizationId: made.org_id, config: { fragments } }))
      .fragment?.id ?? "";
  const ids = [await make("f5", [])];
  for (const name of ["f4", "f3", "f2", "f1"]) ids.unshift(await make(name, [ids[0] ?? ""]));
  const [outer = ""] = ids;
  const inner = ids.at(-1) ?? "";
  const circle = await failure(app.updateFragment({ id: inner, config: { fragments: [outer] } }));
  const self = await failure(app.updateFragment({ id: inner, config: { fragments: [inner] } }));
  const tooDeep = await failure(make("f0", [outer]));
  const other = await make("other", []);
  const below = await failure(app.updateFragment({ id: inner, config: { fragments: [other] } }));
  const nested = await app.listNestedFragments({ fragmentId: outer });
  const unknown = await app.listNestedFragments({
    additionalFragments: [{ fragmentId: crypto.randomUUID() }],
  });

  assert.match(circle.message, /include one another/);
  assert.match(self.message, /include one another/);
  assert.match(tooDeep.message, /nested too deep/);
  assert.match(below.message, /nested too deep/, "deeper for those that include it");
  assert.equal(nested.fragments.length, 5);
  assert.deepEqual(nested.resolvedFragments.map(({ error }) => error), [undefined]);
  assert.equal(
    unknown.resolvedFragments[0]?.error?.errorType,
    FragmentErrorType.CHILD_ID_INVALID,
  );
});

Deno.test("a fragment in use is not deleted, and the refusal says by whom", async () => {
  const { cloud, made, app, id } = await withFragment();
  await using _ = cloud;
  await app.createFragment({
    name: "outer",
    organizationId: made.org_id,
    config: { fragments: [id] },
  });
  const used = await failure(app.deleteFragment({ id }));
  assert.equal(used.code, Code.FailedPrecondition);
  assert.match(used.message, /1 machine \(demo\), 1 fragment \(outer\)/);
  await app.updateRobotPart({ id: made.part_id, robotConfig: {} });
  const { fragments } = await app.listFragments({
    organizationId: made.org_id,
    fragmentVisibility: [FragmentVisibility.PRIVATE],
  });
  await app.deleteFragment({ id: fragments.find(({ name }) => name === "outer")?.id ?? "" });
  await app.deleteFragment({ id });
  assert.equal((await failure(app.getFragment({ id }))).code, Code.NotFound);
});

Deno.test("what others may include is theirs to see, and never what is private", async () => {
  await using cloud = await TestCloud.open();
  const ours = await cloud.bootstrap();
  const theirs = await cloud.bootstrap({ organization: "Other" });
  const make = async (name: string, visibility: FragmentVisibility, fragments: string[] = []) =>
    (await cloud.app(theirs).createFragment({
      name,
      visibility,
      organizationId: theirs.org_id,
      config: { fragments },
    })).fragment?.id ?? "";
  const hidden = await make("hidden", FragmentVisibility.PRIVATE);
  const open = await make("open", FragmentVisibility.PUBLIC);
  const unlisted = await make("unlisted", FragmentVisibility.PUBLIC_UNLISTED);
  const app = cloud.app(ours);
  const include = (id: string) =>
    app.updateRobotPart({ id: ours.part_id, robotConfig: { fragments: [id] } });

  const list = await app.listFragments({ organizationId: ours.org_id, showPublic: true });
  assert.deepEqual(list.fragments.map(({ name }) => name), ["open"]);
  assert.equal((await app.getFragment({ id: unlisted })).fragment?.name, "unlisted");
  assert.equal((await failure(app.getFragment({ id: hidden }))).code, Code.NotFound);
  assert.match((await failure(include(hidden))).message, /there is no fragment/);
  await include(open);
  const closing = await failure(
    cloud.app(theirs).updateFragment({ id: open, visibility: FragmentVisibility.PRIVATE }),
  );
  assert.match(closing.message, /cannot become private.*1 machine of other organisations/);
  const leak = await failure(make("leak", FragmentVisibility.PUBLIC, [hidden]));
  assert.match(leak.message, /includes the private fragment "hidden"/);
  const foreign = await failure(app.updateFragment({ id: open, name: "mine" }));
  assert.equal(foreign.code, Code.PermissionDenied);
});

Deno.test("a fragment has a history, and a save on an old state is refused", async () => {
  const { cloud, made, app, id } = await withFragment();
  await using _ = cloud;
  const { fragment } = await app.getFragment({ id });
  await app.updateFragment({ id, config: {}, lastKnownUpdate: fragment!.lastUpdated! });
  const late = await failure(
    app.updateFragment({ id, name: "x", lastKnownUpdate: timestampFromMs(1) }),
  );
  const page = await app.getFragmentHistory({ id, pageLimit: 1n });
  const rest = await app.getFragmentHistory({ id, pageToken: page.nextPageToken });
  assert.equal(late.code, Code.FailedPrecondition);
  assert.deepEqual([...page.history, ...rest.history].map(({ revision }) => revision), ["2", "1"]);
  assert.equal(page.history[0]?.editedBy?.value, made.api_key_id);
  assert.deepEqual(page.history[0]?.old?.fragment, { components: [sensor("a")] });
});

Deno.test("new machines include the organisation's default fragments", async () => {
  const { cloud, made, app, id } = await withFragment();
  await using _ = cloud;
  const { organization } = await app.updateOrganization({
    organizationId: made.org_id,
    defaultFragments: { fragments: [{ fragmentId: id, prefix: "p" }] },
  });
  const needy = await app.createFragment({
    ...{ name: "needy", organizationId: made.org_id },
    config: { components: [{ ...sensor("a"), name: { $variable: { name: "n" } } }] },
  });
  const refused = await failure(app.updateOrganization({
    organizationId: made.org_id,
    defaultFragments: { fragments: [{ fragmentId: needy.fragment!.id }] },
  }));
  assert.match(refused.message, /needs the variable "n"/);
  const { id: machineId } = await app.newRobot({ name: "new", location: made.location_id });
  const { parts } = await app.getRobotParts({ robotId: machineId });
  const machines = await app.listMachineSummaries({
    organizationId: made.org_id,
    fragmentIds: [id],
  });
  assert.deepEqual(parts[0]?.robotConfig, { fragments: [{ id, prefix: "p" }] });
  assert.equal(organization?.defaultFragments?.fragments[0]?.prefix, "p");
  assert.deepEqual(
    machines.locationSummaries[0]?.machineSummaries.map(({ machineName }) => machineName),
    ["demo", "new"],
  );
});

Deno.test("GetResolvedConfig() says which fragment a value comes from, and what differs", async () => {
  const { cloud, made, app, id } = await withFragment({
    components: [sensor("a", { x: 1, y: 1 })],
  });
  await using _ = cloud;
  await app.updateRobotPart({
    id: made.part_id,
    robotConfig: {
      fragments: [id],
      fragment_mods: [{ fragment_id: id, mods: [{ $set: { "components.a.attributes.x": 2 } }] }],
      components: [sensor("own")],
    },
  });
  const client = cloud.client(ConfigurationService, apiKey(made));
  const { sources, fragments, configJson } = await client.getResolvedConfig({
    partId: made.part_id,
  });
  const drift = await client.getFragmentDrift({ fragmentId: id });

  assert.deepEqual(sources.map(({ path, fragmentId }) => [path, fragmentId]), [
    ["components[0]", id],
    ["components[0].attributes.x", ""],
    ["components[1]", ""],
  ]);
  assert.deepEqual(fragments.map(({ name, revision }) => [name, revision]), [["base", "1"]]);
  assert.equal(JSON.parse(configJson).components[0].attributes.x, 2);
  assert.deepEqual(
    drift.parts.map(({ machineName, changedPaths }) => [machineName, changedPaths]),
    [
      ["demo", ["components.a.attributes.x"]],
    ],
  );

  await app.updateRobotPart({
    id: made.part_id,
    robotConfig: {
      fragments: [{ id, prefix: "p" }],
      fragment_mods: [{ fragment_id: id, mods: [{ $unset: { "components.a": null } }] }],
      components: [sensor("usb-a")],
    },
  });
  const prefixed = await client.getFragmentDrift({ fragmentId: id });
  assert.deepEqual(prefixed.parts.map(({ changedPaths }) => changedPaths), [["components.p-a"]]);
});

// Machines, parts, fragments and the registry, by the calls of AppClient.
import { CODE, equal, refused, sdk } from "./calls.mjs";

const ids = (list) => list.map(({ id }) => id).sort();

async function machines({ app, organization, location, machine }) {
  const made = await app.newRobot(location, "cart");
  equal((await app.getRobot(made)).name, "cart");
  equal(ids(await app.listRobots(location)), [machine, made].sort());
  equal((await app.updateRobot(made, location, "wagon")).name, "wagon");
  await app.updateRobotMetadata(made, { wheels: 4 });
  equal(await app.getRobotMetadata(made), { wheels: 4 });
  const [{ apiKey }] = await app.getRobotAPIKeys(made);
  equal([apiKey.id !== "", apiKey.key !== ""], [true, true]);
  const [summary] = await app.listMachineSummaries(organization, [], [
    location,
  ]);
  equal(summary.machineSummaries.map(({ machineName }) => machineName).sort(), [
    "bench",
    "wagon",
  ]);
  await app.deleteRobot(made);
  await refused(app.getRobot(made), CODE.notFound, made);
  await refused(
    app.getRoverRentalRobots(organization),
    CODE.unimplemented,
    "no rovers",
  );
}

async function parts({ app, location, toStruct }) {
  const machine = await app.newRobot(location, "arm");
  const [main] = await app.getRobotParts(machine);
  const made = await app.newRobotPart(machine, "wrist");
  await app.markPartAsMain(made);
  const { part } = await app.getRobotPart(made);
  equal([part.name, part.mainPart], ["wrist", true]);
  const found = await app.getRobotPartByNameAndLocation("wrist", location);
  equal(found.part.id, made);
  await app.markPartForRestart(made);
  await app.updateRobotPartMetadata(made, { side: "left" });
  equal(await app.getRobotPartMetadata(made), { side: "left" });

  const config = {
    components: [{
      name: "s",
      api: "rdk:component:sensor",
      model: "rdk:builtin:fake",
    }],
  };
  const saved = await app.updateRobotPart(made, "wrist-2", toStruct(config));
  equal([saved.name, saved.robotConfig.toJson()], ["wrist-2", config]);
  equal((await app.getRobotPartHistory(made)).length > 0, true);

  const secrets = (await app.createRobotPartSecret(made)).secrets;
  equal(secrets.length, 2);
  await app.deleteRobotPartSecret(made, secrets[1].id);
  equal((await app.getRobotPart(made)).part.secrets.map(({ id }) => id), [
    secrets[0].id,
  ]);
  await app.deleteRobotPart(main.id);
  equal(ids(await app.getRobotParts(machine)), [made]);
  await app.deleteRobot(machine);
}

async function logs({ app, part, toStruct }) {
  const { logs } = await app.getRobotPartLogs(part, "", ["info"]);
  equal([logs.length > 0, logs.some(({ level }) => level !== "info")], [
    true,
    false,
  ]);
  const queue = [];
  // It ends with the process: the SDK gives no way to end it before.
  app.tailRobotPartLogs(part, queue, "", false).catch(() => undefined);
  const { robotConfig, name } = (await app.getRobotPart(part)).part;
  for (let n = 0; queue.length === 0 && n < 300; n++) {
    const config = robotConfig.toJson();
    config.components[1].attributes = { readings: { n } };
    await app.updateRobotPart(part, name, toStruct(config));
    await new Promise((done) => setTimeout(done, 100));
  }
  equal(queue.length > 0, true);
}

async function fragments({ app, organization, machine, toStruct }) {
  const config = {
    components: [{
      name: "f",
      api: "rdk:component:sensor",
      model: "rdk:builtin:fake",
    }],
  };
  const { id } = await app.createFragment(
    organization,
    "base",
    toStruct(config),
  );
  const PRIVATE = sdk.appApi.FragmentVisibility.PRIVATE;
  const listed = async (...args) => ids(await app.listFragments(organization, ...args));
  equal([await listed(), await listed(false), await listed(true, [PRIVATE])], [
    [],
    [id],
    [id],
  ]);
  const open = await app.updateFragment(id, "base 2", toStruct(config), true);
  equal([open.name, open.public, await listed()], ["base 2", true, [id]]);
  equal((await app.getFragment(id)).fragment.toJson(), config);
  equal(ids(await app.listMachineFragments(machine, [id])), [id]);
  await app.deleteFragment(id);
  await refused(app.getFragment(id), CODE.notFound, id);
}

/** Of `viam.app.packages.v1.PackageType`, which the SDK keeps to itself. */
const [MODULE, SCRIPT] = [3, 5];

async function registry({ app, organization }) {
  const { moduleId } = await app.createModule(organization, "weather");
  const model = { api: "rdk:component:sensor", model: "acme:weather:sun" };
  const { PRIVATE } = sdk.appApi.Visibility;
  await app.updateModule(moduleId, PRIVATE, "https://example.com", "Sun", [
    model,
  ], "run.sh");
  const module = await app.getModule(moduleId);
  equal([module.description, module.entrypoint, module.models.length], [
    "Sun",
    "run.sh",
    1,
  ]);
  equal((await app.listModules(organization)).map((one) => one.moduleId), [
    moduleId,
  ]);
  const id = `${organization}:counter`;
  await app.createRegistryItem(organization, "counter", SCRIPT);
  await app.updateRegistryItem(id, SCRIPT, "Counts", PRIVATE);
  equal((await app.getRegistryItem(id)).description, "Counts");
  const listed = async (types) =>
    (await app.listRegistryItems(organization, types, [], [], [])).map((
      { itemId },
    ) => itemId);
  equal([await listed([SCRIPT]), await listed([MODULE])], [[id], [moduleId]]);
  for (const each of [id, moduleId]) await app.deleteRegistryItem(each);
  equal(await listed([]), []);
}

async function absent({ billing, organization }) {
  const why = "this cloud bills nobody";
  await refused(billing.getCurrentMonthUsage(organization), CODE.unimplemented, why);
  await refused(billing.getOrgBillingInformation(organization), CODE.unimplemented, why);
  await refused(billing.getInvoicesSummary(organization), CODE.unimplemented, why);
  await refused(billing.getInvoicePdf("invoice", organization), CODE.unimplemented, why);
}

export const CASES = [machines, parts, logs, fragments, registry, absent];

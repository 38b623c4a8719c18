import assert from "node:assert/strict";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { startMicro } from "./micro_machine.ts";
import { eventually, rigTest } from "./rig.ts";

const sensor = (name: string, attributes = {}) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  attributes,
});

rigTest("machine-micro-server comes online, applies changes and reports faults", async (rig) => {
  await rig.startCloud();
  await rig.saveConfig({ components: [sensor("one")] });
  using micro = await startMicro(rig);
  await eventually("online with one sensor", async () => {
    const { online, status } = await rig.liveStatus();
    return online &&
      status?.resources.some(({ name, state }) => name?.name === "one" && state === 3);
  });

  await rig.saveConfig({
    components: [
      sensor("one", { readings: { t: 21.5 } }),
      sensor("wrong", { readings: 5 }),
      { name: "odd", api: "rdk:component:sensor", model: "acme:x:y" },
    ],
  });
  await micro.waitForLine("acme:x:y of");

  const live = await eventually("live readings", async () => {
    const { readings, status } = await rig.liveStatus();
    const one = readings.find(({ name }) => name === "one");
    return one?.readings && "t" in one.readings && { readings, status };
  });
  const errors = live.status?.resources.map(({ name, error }) => [name?.name, error]);
  assert.match(Object.fromEntries(errors ?? [])["wrong"] ?? "", /attributes.readings is 5/);
  assert.match(Object.fromEntries(errors ?? [])["odd"] ?? "", /not built into this program/);
  await eventually("log lines", async () => (await rig.logs("not built into")).length > 0);

  await rig.saveConfig({
    components: [sensor("large", { readings: { t: "x".repeat(97 * 1024) } })],
  });
  const refused = await eventually("the reason in the status", async () => {
    const { configError, status, readings } = await rig.liveStatus();
    return configError !== "" && readings.length > 0 && { configError, status, readings };
  });
  assert.match(refused.configError, /a body of \d+ bytes is larger than is taken/);
  const kept = refused.status?.resources.map(({ name }) => name?.name).sort();
  assert.deepEqual(kept, ["odd", "one", "wrong"]);
  assert.deepEqual(refused.readings.find(({ name }) => name === "one")?.readings, { t: 21.5 });
  await micro.waitForLine("the newest configuration is not used, the one before stays");

  await rig.saveConfig({ components: [sensor("small")] });
  await eventually("the next one in use", async () => {
    const { configError, status } = await rig.liveStatus();
    return configError === "" && status?.resources.some(({ name }) => name?.name === "small");
  });
});

rigTest(
  "machine-micro-server captures readings and uploads them, also after a pause",
  async (rig) => {
    let cloud = await rig.startCloud();
    const capture = {
      type: "rdk:service:data_manager",
      attributes: {
        capture_methods: [{ method: "Readings", capture_frequency_hz: 20, tags: ["lab"] }],
      },
    };
    await rig.saveConfig({
      components: [{ ...sensor("one", { readings: { t: 21.5 } }), service_configs: [capture] }],
      services: [{
        name: "data",
        api: "rdk:service:data_manager",
        model: "rdk:builtin:builtin",
        attributes: { sync_interval_mins: 0.01 },
      }],
    });
    using micro = await startMicro(rig);
    const uploaded = async () => {
      const { data } = await (await rig.cloud()).client(DataService)
        .tabularDataByFilter({ dataRequest: { limit: 50n } });
      return data;
    };
    const [first] = await eventually("uploaded", async () => {
      const data = await uploaded();
      return data.length > 0 && data;
    });
    assert.deepEqual(first?.data, { readings: { t: 21.5 } });
    const count = async () =>
      Number(
        (await (await rig.cloud()).client(DataService).tabularDataByFilter({ countOnly: true }))
          .count,
      );
    const before = await count();
    await cloud.stop(5_000);
    await micro.waitForLine("no stream of changes");
    cloud = await rig.startCloud();
    await eventually("more is uploaded", async () => await count() > before + 10);
    assert.equal(micro.restarts(), 0);
  },
);

rigTest("machine-micro-server restarts when somebody requests it", async (rig) => {
  await rig.startCloud();
  using micro = await startMicro(rig);
  await micro.waitForLine("applied revision");
  await (await rig.cloud()).client(AppService).markPartForRestart({ partId: rig.partId });
  await eventually("restarted", () => Promise.resolve(micro.restarts() > 0));
});

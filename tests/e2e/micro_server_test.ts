import assert from "node:assert/strict";
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
});

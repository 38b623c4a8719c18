import assert from "node:assert/strict";
import { eventually, rigTest } from "../e2e/rig.ts";
import { TcpProxy } from "./tcp_proxy.ts";

/** Far less than the five minutes after which a machine asks on its own. */
const CUT_STREAM_MS = 90_000;

rigTest("a save made while the network is cut reaches the machine once it is back", async (rig) => {
  await using proxy = await TcpProxy.start(rig.cloudPort);
  await rig.bootstrap(rig.defaultConfig(), proxy.url);
  await rig.startCloud();
  await rig.startServer();
  await rig.saveFakeReadings({ n: 1 });
  await eventually("the save arrives", async () => (await rig.readings("fake")).n === 1);

  proxy.cut();
  await rig.saveFakeReadings({ n: 2 });
  assert.equal((await rig.readings("fake")).n, 1);
  proxy.restore();
  await eventually("the second save arrives", async () => {
    return (await rig.readings("fake")).n === 2;
  });
});

rigTest(
  "a save reaches the machine soon when the push stream is cut again and again",
  async (rig) => {
    await using proxy = await TcpProxy.start(rig.cloudPort);
    await rig.bootstrap(rig.defaultConfig(), proxy.url);
    await rig.startCloud();
    await rig.startServer();
    await rig.readings("fake");
    for (let n = 1; n <= 3; n++) {
      proxy.reset();
      await rig.saveFakeReadings({ n });
      await eventually(`save ${n} arrives`, async () => {
        return (await rig.readings("fake")).n === n;
      }, CUT_STREAM_MS);
    }
  },
);

rigTest(
  "the machine finds its cloud again when the network loses packets without a word",
  async (rig) => {
    await using proxy = await TcpProxy.start(rig.cloudPort);
    await rig.bootstrap(rig.defaultConfig(), proxy.url);
    await rig.startCloud();
    await rig.startServer();
    await rig.readings("fake");

    proxy.silence();
    await rig.saveFakeReadings({ n: 1 });
    proxy.restore();
    await eventually("the save arrives over new connections", async () => {
      return (await rig.readings("fake")).n === 1;
    }, 60_000);
  },
);

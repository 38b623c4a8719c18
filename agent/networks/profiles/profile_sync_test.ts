import assert from "node:assert/strict";
import { join } from "node:path";
import type { AdditionalNetwork } from "../../../shared/config/agent_fields.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ignoreBecause } from "../../../shared/test_tools/skips.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { AgentState } from "../../state/agent_state.ts";
import { NetworkStore } from "../store/network_store.ts";
import { NetworkManager } from "../manager/network_manager.ts";
import { profileOf } from "../manager/profile.ts";
import { NetworkManagerRig, noNetworkManagerBecause } from "../manager/testing.ts";
import { ProfileSync } from "./profile_sync.ts";
import { wantedNetworks } from "./wanted_networks.ts";

const ignore = ignoreBecause(import.meta.url, noNetworkManagerBecause());
const DEADLINE = { deadlineMs: 60_000 };
const WIRED: AdditionalNetwork = {
  type: "wired",
  interface: "eth0",
  ssid: "",
  psk: "",
  priority: 7,
  ipv4_address: "192.0.2.7/24",
  ipv4_gateway: "192.0.2.1",
  ipv4_dns: [],
  ipv4_route_metric: 0,
};

class SyncRig {
  readonly log = memoryLogger();
  readonly never = new AbortController().signal;
  isOnline = true;
  /** What the check after a change finds, and what is done meanwhile. */
  confirm: () => Promise<string | undefined> = () => Promise.resolve(undefined);
  confirms = 0;

  constructor(
    readonly rig: NetworkManagerRig,
    readonly manager: NetworkManager,
    readonly store: NetworkStore,
  ) {}

  sync = () =>
    new ProfileSync({
      manager: this.manager,
      store: this.store,
      isOnline: () => this.isOnline,
      confirmOnline: () => {
        this.confirms++;
        return this.confirm();
      },
      clock: systemClock,
      log: this.log,
    });

  async want(
    networks: Record<string, Partial<AdditionalNetwork>>,
    isSettled = true,
  ): Promise<ProfileSync> {
    const sync = this.sync();
    const additional_networks = Object.fromEntries(
      Object.entries(networks).map(([label, change]) => [label, { ...WIRED, ...change }]),
    );
    const network_configuration = { wifi_power_save: null } as never;
    const wanted = wantedNetworks({ additional_networks, network_configuration }, () => undefined);
    await sync.run(wanted, { isSettled }, this.never);
    return sync;
  }

  async labels(): Promise<string[]> {
    return (await this.manager.ownProfiles()).map(({ label }) => label).sort();
  }

  async address(): Promise<string | undefined> {
    const [own] = await this.manager.ownProfiles();
    const data = own?.settings.ipv4?.["address-data"]?.value as
      | { address: { value: string } }[]
      | undefined;
    return data?.[0]?.address.value;
  }

  /** What is on disk, all files in one text. */
  disk(): string {
    const folder = this.rig.profilesFolder;
    return [...Deno.readDirSync(folder)].map(({ name }) =>
      Deno.readTextFileSync(join(folder, name))
    ).join("\n");
  }
}

function syncTest(name: string, run: (at: SyncRig) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using rig = await NetworkManagerRig.start();
      const state = AgentState.open(join(rig.messages.folder, "agent.db"));
      try {
        const store = new NetworkStore(state.database, { boot: "b", uptimeMs: () => 1 });
        await run(new SyncRig(rig, await NetworkManager.open(rig.bus), store));
      } finally {
        state.close();
      }
    },
  });
}

syncTest("run() adds, changes and removes our profiles, and touches no other", async (at) => {
  const { user: _, ...foreign } = profileOf({
    ...wantedNetworks({
      additional_networks: { theirs: { ...WIRED, interface: "eth9" } },
      network_configuration: { wifi_power_save: null } as never,
    }, () => undefined)[0] ?? assert.fail(),
  });
  await at.manager.addProfile({ ...foreign, user: {} }, true);
  await at.want({ a: {}, b: { interface: "eth1", ipv4_address: "auto" } });
  assert.deepEqual(await at.labels(), ["a", "b"]);
  assert.equal(at.confirms, 1);
  await at.want({ a: {}, b: { interface: "eth1", ipv4_address: "auto" } });
  assert.equal(at.confirms, 1, "what is as wanted is left alone");
  await at.want({ a: { ipv4_address: "192.0.2.8/24" } });
  assert.deepEqual(await at.labels(), ["a"]);
  assert.match(at.disk(), /192\.0\.2\.8/);
  assert.equal((at.disk().match(/\[connection\]/g) ?? []).length, 2, "theirs and a");
  await at.want({});
  assert.deepEqual(await at.labels(), []);
  assert.equal((at.disk().match(/\[connection\]/g) ?? []).length, 1);
});

syncTest(
  "run() changes no cable without proof before it is known whether the machine is offline",
  async (at) => {
    at.isOnline = false;
    const { problems } = await at.want({ a: {} }, false);
    assert.deepEqual([await at.labels(), problems], [[], []]);
    at.isOnline = true;
    await at.want({ a: {} });
    assert.deepEqual([await at.labels(), at.confirms], [["a"], 1]);
    at.isOnline = false;
    await at.want({ a: { ipv4_address: "192.0.2.8/24" }, b: { interface: "eth1" } }, false);
    assert.deepEqual([await at.labels(), at.disk().includes("192.0.2.8")], [["a"], false]);
  },
);

syncTest("run() takes a change back that costs the connection, for good", async (at) => {
  await at.want({ a: {} });
  await waitFor(async () => (await at.manager.devices())[0]?.state === 100, DEADLINE);
  at.confirm = async () => {
    assert.equal(await at.address(), "198.51.100.9", "it was tried");
    assert.doesNotMatch(at.disk(), /198\.51/, "a power cut now brings the old one back");
    return "the cloud does not answer";
  };
  const sync = await at.want({ a: { ipv4_address: "198.51.100.9/24" } });
  assert.equal(await at.address(), "192.0.2.7");
  assert.match(at.disk(), /192\.0\.2\.7/);
  assert.deepEqual(sync.problems, [
    "additional_networks.a is not in use: the cloud does not answer",
  ]);
  assert.equal(at.confirms, 2);
  const again = await at.want({ a: { ipv4_address: "198.51.100.9/24" } });
  assert.equal(at.confirms, 2, "it is not tried again");
  assert.equal(again.problems.length, 1);
  at.confirm = () => Promise.resolve(undefined);
  await at.want({ a: { ipv4_address: "192.0.2.10/24" } });
  assert.equal(await at.address(), "192.0.2.10");
});

syncTest("run() gives a removed profile back when the machine needs it", async (at) => {
  await at.want({ a: {} });
  await waitFor(async () => (await at.manager.devices())[0]?.state === 100, DEADLINE);
  at.confirm = () => Promise.resolve("the cloud does not answer");
  const sync = await at.want({});
  assert.match(sync.problems.join(), /network a is kept, .*: the cloud does not answer/);
  assert.deepEqual(await at.labels(), ["a"]);
  assert.match((await at.want({})).problems.join(), /network a is kept/);
  assert.equal(at.confirms, 2, "it is not tried again");
  await waitFor(async () => (await at.manager.devices())[0]?.state === 100, DEADLINE);
  assert.doesNotMatch(at.disk(), /autoconnect=false/);
});

syncTest("run() abandons a change that the agent did not survive three times", async (at) => {
  await at.want({ a: {} });
  at.confirm = () => Promise.reject(new Error("cut"));
  const stop = new AbortController();
  for (let n = 0; n < 3; n++) {
    at.confirm = () => {
      stop.abort();
      return Promise.reject(new Error("the agent ends"));
    };
    const wanted = wantedNetworks({
      additional_networks: { a: { ...WIRED, priority: 9 } },
      network_configuration: { wifi_power_save: null } as never,
    }, () => undefined);
    await assert.rejects(at.sync().run(wanted, { isSettled: true }, stop.signal));
  }
  const sync = await at.want({ a: { priority: 9 } });
  assert.match(sync.problems.join(), /exited 3 times/);
});

syncTest("run() takes nothing away while the machine is offline", async (at) => {
  await at.want({ a: {} });
  at.isOnline = false;
  const sync = await at.want({});
  assert.deepEqual(sync.problems, [
    "additional_networks.a stays as it was until the machine is online",
  ]);
  assert.match(at.disk(), /192\.0\.2\.7/);
  at.isOnline = true;
  await at.want({});
  assert.deepEqual(await at.labels(), []);
});

syncTest("run() needs no proof while the machine is offline anyway", async (at) => {
  at.isOnline = false;
  await at.want({ a: {} });
  assert.equal(at.confirms, 0);
  assert.match(at.disk(), /192\.0\.2\.7/);
});

syncTest("run() mends what somebody changed in a profile of ours", async (at) => {
  await at.want({ a: {} });
  const [own] = await at.manager.ownProfiles();
  const other = profileOf({
    ...wantedNetworks({
      additional_networks: { a: { ...WIRED, ipv4_address: "192.0.2.99/24" } },
      network_configuration: { wifi_power_save: null } as never,
    }, () => undefined)[0] ?? assert.fail(),
  });
  await at.manager.updateProfile(own?.path ?? "", other, true);
  await at.want({ a: {} });
  assert.equal(await at.address(), "192.0.2.7");
});

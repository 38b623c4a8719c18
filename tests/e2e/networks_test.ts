// machine-agent as root with a real NetworkManager, in namespaces of its own; where there can be
// none, all is skipped. The file runs itself again for each machine, in a network without any way
// out; all at a time, as they mostly wait for time-outs that are meant for people.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noNetworkManagerBecause } from "../../agent/networks/manager/testing.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { FIRST_ADDRESS, networked, NetworkedMachine } from "./networked_machine.ts";
import { eventually } from "./rig.ts";
import { LONG_MS, runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const INSIDE = "MACHINE_TEST_NETWORKS_INSIDE";
const CABLE = { type: "wired", interface: "eth0", priority: 10 };
const GOOD = { ...CABLE, ipv4_address: "192.0.2.9/24" };
/** Nothing that the machine needs is there. */
const WRONG = { ...CABLE, ipv4_address: "198.51.100.9/24" };

const MACHINES: Readonly<Record<string, (machine: NetworkedMachine) => Promise<void>>> = {
  "wired networks of the configuration come and go": async (machine) => {
    const { rig } = machine;
    await rig.bootstrap(networked({}));
    await rig.startCloud();
    machine.startAgent();
    await machine.says("it is online", ({ state }) => state === "online");
    assert.deepEqual(await machine.addresses(), [FIRST_ADDRESS]);

    await rig.saveConfig(networked({ desk: GOOD }));
    await machine.hasAddress("192.0.2.9");
    await machine.hasProfiles(2);

    await rig.saveConfig(networked({}));
    await machine.hasAddress(FIRST_ADDRESS);
    await machine.hasProfiles(1);
    assert.deepEqual(machine.profiles(), ["first.nmconnection"]);
  },

  "a wired network that leads nowhere is taken back": async (machine) => {
    const { rig } = machine;
    await rig.bootstrap(networked({ desk: GOOD }));
    await rig.startCloud();
    machine.startAgent();
    await machine.hasAddress("192.0.2.9");
    await machine.hasProfiles(2);

    await machine.restartAgent(networked({ desk: GOOD, wrong: { ...WRONG, priority: 20 } }));
    const refused = await machine.says(
      "the wrong one is refused",
      ({ problems }) =>
        problems.some((problem) => problem.includes("additional_networks.wrong is not in use")),
    );
    assert.match(refused.problems.join(), /neither the cloud nor the internet was reached/);
    await machine.hasAddress("192.0.2.9");
    assert.equal(machine.profiles().length, 2);

    await machine.restartAgent(networked({ desk: GOOD }));
    await machine.says(
      "nothing is wrong",
      ({ state, problems }) => state === "online" && problems.length === 0,
    );
    assert.deepEqual(await machine.addresses(), ["192.0.2.9"]);
  },

  "NetworkManager is killed, hangs, and is found again": async (machine) => {
    await machine.rig.bootstrap(networked({ desk: GOOD }));
    await machine.rig.startCloud();
    machine.startAgent();
    await machine.hasAddress("192.0.2.9");
    await machine.says("it is online", ({ state }) => state === "online");

    machine.manager.signal("SIGKILL");
    await machine.manager.waitForEnd();
    const gone = await machine.says("it is gone", ({ state }) => state === "unavailable");
    assert.match(gone.detail, /NetworkManager/);
    machine.startManager();
    await machine.says("it is back", ({ state }) => state === "online");

    machine.manager.signal("SIGSTOP");
    const hangs = await machine.says("it hangs", ({ state }) => state === "unavailable");
    assert.match(hangs.detail, /NetworkManager does not answer/);
    assert.equal(machine.agent.hasExited, false);
    machine.manager.signal("SIGCONT");
    await machine.says("it goes on", ({ state }) => state === "online");
  },

  "without credentials the machine waits to be set up": async (machine) => {
    const { rig } = machine;
    await rig.bootstrap(networked({}));
    await rig.startCloud();
    const file = join(rig.dir, "given.json");
    machine.startAgent(file);
    const { problems } = await machine.says("it waits", ({ problems }) => problems.length > 0);
    assert.match(
      problems.join(),
      /there is no radio that may be used; put its credentials into .*given\.json/,
    );
    await Deno.copyFile(rig.credentialsFile, file);
    await machine.says("it is online", ({ state }) => state === "online");
    await eventually(
      "the cloud knows it",
      async () => (await rig.liveStatus()).agent !== undefined,
    );
  },

  "with networking disabled nothing is touched": async (machine) => {
    await machine.rig.bootstrap(networked({ desk: GOOD }, { disable_network_configuration: true }));
    await machine.rig.startCloud();
    machine.startAgent();
    await machine.says("it is disabled", ({ state }) => state === "disabled");
    assert.deepEqual(await machine.addresses(), [FIRST_ADDRESS]);
    assert.deepEqual(machine.profiles(), ["first.nmconnection"]);
  },
};

const inside = Deno.env.get(INSIDE);
if (inside === undefined) {
  Deno.test({
    name: "machine-agent and a real NetworkManager",
    ignore: ignoreBecause(import.meta.url, noNetworkManagerBecause()),
    fn: async (t) => {
      const apart = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
      const steps = Object.keys(MACHINES).map((name) =>
        t.step({ name, ...apart, fn: () => runInside(name) })
      );
      await Promise.all(steps);
    },
  });
} else {
  Deno.test(inside, async () => {
    await using machine = await NetworkedMachine.create();
    try {
      await MACHINES[inside]?.(machine);
    } catch (error) {
      throw new Error(`${String(error)}\n${machine.rig.outputs()}`, { cause: error });
    }
  });
}

async function runInside(name: string): Promise<void> {
  const script = 'ip link set lo up && exec "$@"';
  const test = ["test", "-A", "--no-check", "--quiet", fileURLToPath(import.meta.url)];
  const { success, stdout, stderr } = await runToEnd("unshare", {
    args: [
      ...["--net", "--mount", "--fork", "--kill-child", "sh", "-c", script, "sh"],
      ...[`${ROOT}tools/deno.sh`, ...test],
    ],
    env: { [INSIDE]: name },
    limitMs: LONG_MS,
  });
  const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  assert.ok(success, text);
}

/** Portal and provisioning API on the ports that phones know, on a network in namespaces. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { ignoreBecause, ignoreWithout } from "../../shared/test_tools/skips.ts";
import { type NetworkComputer, noNetworkBecause, SmallNetwork } from "./small_network.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const HOST = fileURLToPath(new URL("provisioning_host.ts", import.meta.url));
const HOTSPOT = "10.42.0.1";
const ignore = ignoreWithout(import.meta.url, "curl") ||
  ignoreBecause(import.meta.url, await noNetworkBecause());

Deno.test({
  name: "portal and API answer on the hotspot, and nobody of another network",
  ignore,
  fn: async () => {
    await using network = await SmallNetwork.create();
    const { first: machine, second: neighbour } = network;
    const on = (computer: NetworkComputer, ...command: string[]) =>
      network.output(computer, ...command);
    // The hotspot of a radio that nobody else is on; the machine itself is the phone.
    const cable = ["type", "veth", "peer", "name", "nobody0"];
    await on(machine, "ip", "link", "add", "hot0", ...cable);
    await on(machine, "ip", "address", "add", `${HOTSPOT}/24`, "dev", "hot0");
    await on(machine, "ip", "link", "set", "hot0", "up");
    await on(neighbour, "ip", "route", "add", `${HOTSPOT}/32`, "via", machine.address);
    const [command = "", ...args] = [...machine.run, `${ROOT}tools/deno.sh`];
    const host = new Deno.Command(command, {
      args: [...args, "run", "-A", "--no-check", "--quiet", HOST],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const input = host.stdin.getWriter();
    const output = host.stdout.getReader();
    try {
      assert.equal(new TextDecoder().decode((await output.read()).value), "ready\n");
      const curl = (computer: NetworkComputer, ...more: string[]) =>
        on(computer, "curl", "--silent", "--max-time", "10", ...more);
      const probe = ["--resolve", `captive.apple.com:80:${HOTSPOT}`];
      const redirected = await curl(
        machine,
        ...probe,
        "--location",
        "--write-out",
        "%{url_effective}",
        "http://captive.apple.com/hotspot-detect.html",
      );
      assert.match(redirected, /<title>Set up .*http:\/\/10\.42\.0\.1\/$/s);
      const list = [
        ...["--header", "content-type: application/json", "--data", "{}"],
        `http://${HOTSPOT}:4772/viam.provisioning.v1.ProvisioningService/GetNetworkList`,
      ];
      assert.match(await curl(machine, ...list), /"ssid":"Home"/);
      await assert.rejects(curl(neighbour, `http://${HOTSPOT}/`));
      await assert.rejects(curl(neighbour, ...list));
      // Not at the machine's other address either.
      await assert.rejects(curl(neighbour, `http://${machine.address}/`));
    } finally {
      await input.close();
      await output.cancel();
      await host.status;
    }
  },
});

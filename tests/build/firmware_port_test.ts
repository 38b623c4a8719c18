// The firmware of machine-micro-server on an emulated board, where names and certificates are as in a
// home: it finds its cloud by a name server and has TLS at its port. Compiling takes minutes, so `make
// smoke` runs it.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { noNamesBecause, withName } from "../e2e/named_hosts.ts";
import { Program } from "../e2e/program.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { boardOf, firmware, heapOf, HOST_ADDRESS, noFirmwareBecause } from "./firmware_board.ts";

const DEADLINE_MS = 600_000;
/** Of the heap in use after calls, with five resources, two connections to the cloud and a caller. */
const MOST_HEAP = 512 * 1024;
const CLOUD = "cloud.example.com";
/** Of loopback; others may have a name server at the addresses that are usual. */
const NAME_SERVER = "127.77.53.1";

const ignore = ignoreBecause(
  import.meta.url,
  await noFirmwareBecause() ?? await noNamesBecause() ?? missingTools("dnsmasq", "curl"),
);

const component = (name: string, model: string, api = "sensor", attributes = {}) => ({
  name,
  api: `rdk:component:${api}`,
  model: `rdk:builtin:${model}`,
  attributes,
});

const COMPONENTS = [
  component("fake", "fake"),
  component("wheel", "fake", "motor"),
  component("host", "host"),
  component("board", "board", "board"),
  component("light", "gpio", "switch", { pin: "3" }),
];

/** A name server that knows the cloud; gives the file that names it. */
async function startNameServer(rig: Rig): Promise<string> {
  rig.programs.push(Program.start({
    name: "dnsmasq",
    command: "dnsmasq",
    args: [
      ...["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"],
      ...[`--listen-address=${NAME_SERVER}`, "--bind-interfaces", "--log-facility=-"],
      ...["--log-queries", "--pid-file", `--address=/${CLOUD}/${HOST_ADDRESS}`],
    ],
  }));
  const file = join(rig.dir, "resolv.conf");
  await Deno.writeTextFile(file, `nameserver ${NAME_SERVER}\n`);
  return file;
}

rigTest("the firmware finds its cloud by name, and its port has TLS", async (rig) => {
  const built = await firmware("1.2.3");
  const { board, front } = await boardOf(rig, built, { name: CLOUD, portTls: true });
  await using _front = front;
  await rig.saveConfig({ components: COMPONENTS });
  const resolvConf = await startNameServer(rig);
  const program = board.start(resolvConf);
  rig.programs.push(program);
  await program.waitForLine(/port 8080 with TLS/, DEADLINE_MS);
  await program.waitForLine(/applied revision/, DEADLINE_MS);

  const start = await heapOf(rig, DEADLINE_MS);

  const { fqdn, api_key_id: id, api_key: key } = rig.bootstrapped;
  const caFile = join(rig.dir, "machines.pem");
  const ca = await (await fetch(`${rig.cloudUrl}/ca.pem`)).text();
  await Deno.writeTextFile(caFile, ca);
  const read = async (address: string) => {
    const { code, stdout } = await new Deno.Command("curl", {
      args: [
        ...["--silent", "--max-time", "300", "--cacert", caFile],
        ...["--connect-to", `::127.0.0.1:${board.port}`, `${address}/`],
      ],
    }).output();
    return code === 0 ? new TextDecoder().decode(stdout) : code;
  };
  assert.match(String(await read(`https://${fqdn}`)), /^machine-micro-server 1\.2\.3/);
  assert.equal(typeof await read("https://elsewhere.example.com"), "number");
  assert.equal(typeof await read(`http://${fqdn}`), "number");

  // Native gRPC: HTTP/2 by ALPN.
  const script = fileURLToPath(new URL("../compat/micro_tour.py", import.meta.url));
  const args = [script, `${fqdn}:${board.port}`, id, key, "tls"];
  const tour = Program.start({
    name: "micro_tour.py",
    ...await withName(rig.dir, fqdn, await ensurePythonSdk(), args),
    env: { PYTHONDONTWRITEBYTECODE: "1", SSL_CERT_FILE: caFile },
  });
  rig.programs.push(tour);
  const [line] = await tour.waitForLine(/^\{"resources".*/, DEADLINE_MS);
  assert.match(line, /"resources": \["board", "fake", "host", "light", "wheel"\]/);

  const idle = await heapOf(rig, DEADLINE_MS);
  const plain = await Deno.connect({ hostname: "127.0.0.1", port: board.port });
  using caller = await Deno.startTls(plain, { hostname: fqdn, caCerts: [ca] });
  await caller.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
  assert.ok(await caller.read(new Uint8Array(1000)));
  const served = await heapOf(rig, DEADLINE_MS);
  process.stdout.write(
    `heap of the firmware, TLS at its port: ${start}, after calls ${idle}, with a caller ${served}\n`,
  );
  for (const used of [start, idle, served]) assert.ok(used < MOST_HEAP, `${used} bytes`);
}, { ignore });

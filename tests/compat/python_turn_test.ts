// A machine whose network lets no UDP through, reached over a TURN server by the published Python
// SDK: two hosts in namespaces of this one. Where there can be none, or the TURN server coturn
// is not installed, it is skipped, and `make test` says so.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../tools/run/options.ts";
import { Program } from "../e2e/program.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "../e2e/rig.ts";
import { type NetworkComputer, noNetworkBecause, SmallNetwork } from "../e2e/small_network.ts";
import { IMAGE_BYTES, webrtcComponents } from "./webrtc_rig.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TOUR = fileURLToPath(new URL("webrtc_tour.py", import.meta.url));
const DEADLINE_MS = 600_000;
const CLOUD_PORT = 8080;
const SECRET = "shared with the cloud";

const ignore = ignoreBecause(
  import.meta.url,
  missingTools("coturn", "unshare", "python") ?? await noNetworkBecause(),
);

/** Starts a program on one of the computers; it is terminated with the rig. */
function start(rig: Rig, on: NetworkComputer, name: string, command: string[]): Program {
  const [program = "", ...args] = [...on.run, ...command];
  const env = { MACHINE_HOME: rig.serverHome, PYTHONDONTWRITEBYTECODE: "1" };
  const started = Program.start({ name, command: program, args, env });
  rig.programs.push(started);
  return started;
}

function binary(name: "machine-cloud" | "machine-server"): string {
  return programPath(name, { binaries: Deno.env.get("MACHINE_TEST_BINARIES") }, ROOT);
}

/** As in docs/machine-cloud.md. */
function startTurnServer(rig: Rig, on: NetworkComputer): Program {
  return start(rig, on, "turnserver", [
    ...["turnserver", "-n", "--realm=turn.example.com", "--no-cli", "--no-multicast-peers"],
    ...["--use-auth-secret", `--static-auth-secret=${SECRET}`, `--listening-ip=${on.address}`],
    ...["--log-file=stdout", "--verbose", `--pidfile=${join(rig.dir, "turnserver.pid")}`],
    `--userdb=${join(rig.dir, "turnserver.db")}`,
  ]);
}

async function startCloud(rig: Rig, on: NetworkComputer): Promise<void> {
  const iceServers = join(rig.dir, "ice-servers.json");
  const urls = [`turn:${on.address}:3478?transport=tcp`];
  await Deno.writeTextFile(iceServers, JSON.stringify([{ urls, secret: SECRET }]));
  const cloud = start(rig, on, "machine-cloud", [
    ...[binary("machine-cloud"), "serve", "--data", join(rig.dir, "cloud")],
    ...["--listen", `${on.address}:${CLOUD_PORT}`, "--ice-servers", iceServers],
  ]);
  await cloud.waitForLine(/serving/, DEADLINE_MS);
}

async function startTour(rig: Rig, on: NetworkComputer): Promise<Program> {
  const { fqdn, api_key_id: id, api_key: key } = rig.bootstrapped;
  const hosts = join(rig.dir, "hosts");
  await Deno.writeTextFile(hosts, `127.0.0.1 localhost\n${on.address} ${fqdn}\n`);
  return start(rig, on, "webrtc_tour.py", [
    ...["unshare", "-m", "sh", "-c", `mount --bind "${hosts}" /etc/hosts && exec "$@"`, "sh"],
    ...[await ensurePythonSdk(), TOUR, "tour", `${fqdn}:${CLOUD_PORT}`, id, key],
  ]);
}

rigTest(
  "a machine whose network lets no UDP through is reached over a TURN server",
  async (rig) => {
    await using network = await SmallNetwork.create();
    const { first, second } = network;
    // What is not for the host itself, whose own table comes before.
    await network.output(second, "ip", "rule", "add", "ipproto", "udp", "prohibit");
    const config = { ...rig.defaultConfig(), ...await webrtcComponents(rig) };
    await rig.bootstrap(config, `http://${first.address}:${CLOUD_PORT}`);
    const turnServer = startTurnServer(rig, first);
    await startCloud(rig, first);
    const server = start(rig, second, "machine-server", [
      ...[binary("machine-server"), "-config", rig.credentialsFile],
      ...["-allow-insecure-creds", "-debug"],
    ]);
    await server.waitForLine(READY_LINE, DEADLINE_MS);

    const tour = await startTour(rig, first);
    const [line] = await tour.waitForLine(/^\{"resources".*/, DEADLINE_MS);
    const { picture, many } = JSON.parse(line) as { picture: [number, string]; many: number };
    assert.equal(picture[0], IMAGE_BYTES);
    assert.equal(many, 200);
    await server.waitForLine(/a WebRTC connection is open\s+\{"signaled_by":"cloud"/, DEADLINE_MS);
    await turnServer.waitForLine(/ALLOCATE processed, success/, DEADLINE_MS);

    await server.waitForLine(/a WebRTC connection was closed/, DEADLINE_MS);
    await eventually("the machine has left the TURN server", async () => {
      return await network.output(second, "ss", "-Htn", "dst", `${first.address}:3478`) === "";
    });
    await Promise.all(rig.programs.map((program) => program.stop(5_000)));
  },
  { ignore },
);

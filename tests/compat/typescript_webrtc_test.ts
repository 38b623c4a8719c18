import assert from "node:assert/strict";
import { eventually, rigTest } from "../e2e/rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";
import { IMAGE_BYTES, startWebrtcMachine, webrtcComponents } from "./webrtc_rig.ts";

/** What `typescript_sdk/webrtc_tour.mjs` found. */
interface Tour {
  isWebRtc: string;
  names: string[];
  readings: Record<string, unknown>;
  echoed: number;
  picture: number;
  powered: [boolean, number];
  many: number;
  refusal: string;
}

function assertTour(found: Tour): void {
  assert.equal(found.isWebRtc, "connected");
  assert.deepEqual(found.names, ["audio_in", "camera", "generic", "motor", "sensor"]);
  assert.deepEqual(found.readings, { a: 1, text: "hello" });
  assert.equal(found.echoed, 200_000);
  assert.equal(found.picture, IMAGE_BYTES);
  assert.deepEqual(found.powered, [true, 0.5]);
  assert.equal(found.many, 200);
  assert.match(found.refusal, /cannot move at 0 RPM/);
}

function tour(host: string, signaler: string, ...key: string[]): Promise<Tour> {
  return runTypescriptSdk("webrtc_tour.mjs", [host, signaler, ...key]);
}

rigTest("the published TypeScript SDK uses a machine over WebRTC", async (rig) => {
  await startWebrtcMachine(rig);
  assertTour(await tour(`127.0.0.1:${rig.serverPort}`, rig.serverUrl));
});

rigTest(
  "the published TypeScript SDK uses a machine over WebRTC through the cloud",
  async (rig) => {
    await rig.bootstrap({ ...rig.defaultConfig(), ...await webrtcComponents(rig) });
    await rig.startCloud();
    await rig.startServer();
    await eventually("the camera", async () => (await rig.machineStatus()).resources.length >= 5);
    const { fqdn, api_key_id: id, api_key: key } = rig.bootstrapped;
    assertTour(await tour(fqdn, rig.cloudUrl, id, key));
  },
);

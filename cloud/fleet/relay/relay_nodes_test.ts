import assert from "node:assert/strict";
import { Code, createClient } from "@connectrpc/connect";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createDataChannelTransport } from "../../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../../shared/rtc/signaling/caller.ts";
import { FakePeers } from "../../../shared/rtc/signaling/fake_peers.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { apiKey, failure, type TestCloud } from "../../serve/cloud_testing.ts";
import { DEADLINE, Pair } from "../../serve/pair_testing.ts";
import { Device } from "./device_testing.ts";

Deno.test({
  name: "a device on one node is called from the other, answers at either, and moves between them",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    const peers = new FakePeers();
    await using pair = await Pair.open(systemClock, { peers });
    const { one, other } = pair;
    const made = await one.bootstrap();
    const stop = new AbortController();
    const signOf = (device: TestCloud) =>
      [...device.services.presence.signs()].find(({ partId }) => partId === made.part_id);
    const isSeen = () => [one, other].every((cloud) => signOf(cloud)?.isStreaming === true);
    const dial = async (credentials = apiKey(made)) => {
      const peer = await callPeer({
        client: one.client(SignalingService, credentials),
        ...{ host: made.fqdn, peers, signal: stop.signal },
      });
      return createClient(RobotService, createDataChannelTransport(peer.channel));
    };
    const versionOf = async (robot: Awaited<ReturnType<typeof dial>>) =>
      (await robot.getVersion({}, { timeoutMs: 60_000 })).version;

    const first = new Device(other, made);
    await waitFor(isSeen, DEADLINE);
    const robot = await dial();
    assert.equal(await versionOf(robot), "9.9.9");
    assert.equal(first.got.at(-1)?.caller, made.api_key_id);
    await first[Symbol.asyncDispose]();

    // Its stream and its answers come to different nodes.
    const second = new Device(other, made, one);
    await waitFor(async () => await versionOf(await dial()) === "9.9.9", DEADLINE);
    const { id, key } = await one.app(made).createKey({
      name: "for a while",
      authorizations: [{
        authorizationId: "robot_operator",
        resourceType: "robot",
        resourceId: made.machine_id,
      }],
    });
    const theirs = await dial({ type: "api-key", entity: id, payload: key });
    assert.equal(await versionOf(theirs), "9.9.9");
    assert.equal(second.got.at(-1)?.caller, id);
    // The key is withdrawn on the node that does not have the device.
    second.isSilent = true;
    const before = second.got.length;
    const calling = failure(theirs.getVersion({}));
    await waitFor(() => second.got.length > before, DEADLINE);
    await one.app(made).deleteKey({ id });
    assert.equal((await calling).code, Code.Unavailable);
    await second[Symbol.asyncDispose]();

    await using third = new Device(one, made);
    await waitFor(async () => await versionOf(await dial()) === "9.9.9", DEADLINE);
    assert.equal(third.got.at(-1)?.caller, made.api_key_id);
    stop.abort();
  },
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { decode, encode } from "dns-packet";
import { conflictIn, lostTo, type Own } from "./conflicts.ts";
import { allRecords, claimedRecords, type Instance } from "./records.ts";
import { replies } from "./responder.ts";

const ROBOT: Instance = {
  name: "robot",
  port: 8080,
  webrtc: true,
  ipv4: ["192.0.2.7"],
  ipv6: ["fd00::7"],
};
const OWN: Own = { addresses: new Set(ROBOT.ipv4), ports: new Set([8080]) };
const STRANGER = { address: "192.0.2.9", port: 5353 };
const TRIES = 20_000;

/** Numbers in [0, 1), the same in each run. */
function numbers(): () => number {
  let state = 12_345;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}

Deno.test("nothing that can be decoded makes the answering throw", () => {
  const random = numbers();
  const originals = [
    encode({ type: "response", answers: allRecords(ROBOT) }),
    encode({
      type: "query",
      questions: [
        { name: "_rpc._tcp.local", type: "PTR" },
        { name: "robot.local", type: "A" },
        { name: "robot._rpc._tcp.local", type: "SRV" },
      ],
      answers: allRecords(ROBOT),
      authorities: claimedRecords(ROBOT),
    }),
  ];
  let decoded = 0;
  for (let time = 0; time < TRIES; time++) {
    const bytes = Uint8Array.from(originals[time % originals.length]!);
    const changes = 1 + Math.floor(random() * 4);
    for (let change = 0; change < changes; change++) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    }
    let heard;
    try {
      heard = decode(Buffer.from(bytes));
    } catch {
      continue; // The library for sockets drops it likewise.
    }
    decoded++;
    for (const { message } of replies(heard, STRANGER, [ROBOT])) encode(message as typeof heard);
    conflictIn(heard, STRANGER.address, [ROBOT], OWN);
    lostTo(heard, STRANGER.address, [ROBOT], OWN);
  }
  assert.ok(decoded > TRIES / 4, `${decoded} could be decoded`);
});

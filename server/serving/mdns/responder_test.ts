import assert from "node:assert/strict";
import { decode, encode, type Packet } from "dns-packet";
import type { Heard, Sender } from "./mdns_message.ts";
import type { Instance } from "./records.ts";
import { replies, type Reply, unasked } from "./responder.ts";

const ROBOT: Instance = {
  name: "main-abc-example",
  port: 8080,
  webrtc: true,
  ipv4: ["192.0.2.7"],
  ipv6: ["fd00::7"],
};
const OTHER: Instance = { ...ROBOT, name: "main.abc.example", webrtc: false, ipv6: [] };
const ASKER: Sender = { address: "192.0.2.9", port: 5353 };
const INSTANCE = "main-abc-example._rpc._tcp.local";
const HOST = "main-abc-example.local";

/** `name type [options]`, as it comes from the network. */
function query(questions: string[], more: Partial<Packet> = {}, unicast = false): Heard {
  const packet = {
    type: "query" as const,
    questions: questions.map((text) => {
      const [name = "", type = "A"] = text.split(" ");
      return { name, type: type as "A" };
    }),
    ...more,
  };
  const bytes = encode(packet);
  const heard = decode(bytes);
  if (unicast) { for (const question of heard.questions ?? []) question.class = unicastClass(); }
  return heard;
}

/** How dns-packet reads the class of a question that wants its answer for itself. */
function unicastClass() {
  const bytes = encode({ questions: [{ name: "a", type: "A" }] });
  bytes[bytes.length - 2] = 0x80;
  return decode(bytes).questions![0]!.class;
}

/** One line a reply: `group: PTR | SRV TXT A AAAA`. */
function shown(all: Reply[]): string[] {
  return all.map(({ to, message: { answers = [], additionals = [] } }) =>
    `${to}: ${answers.map(({ type }) => type).join(" ")}` +
    (additionals.length > 0 ? ` | ${additionals.map(({ type }) => type).join(" ")}` : "")
  );
}

Deno.test("replies() answers what is asked and adds what is asked next", () => {
  const table: [string, string[]][] = [
    ["_rpc._tcp.local PTR", ["group: PTR | SRV TXT A AAAA"]],
    ["_RPC._tcp.LOCAL PTR", ["group: PTR | SRV TXT A AAAA"]],
    ["_rpc._tcp.local ANY", ["group: PTR | SRV TXT A AAAA"]],
    ["_rpc._tcp.local A", []],
    ["_services._dns-sd._udp.local PTR", ["group: PTR"]],
    [`${INSTANCE} SRV`, ["group: SRV | A AAAA"]],
    [`${INSTANCE} TXT`, ["group: TXT"]],
    [`${INSTANCE} ANY`, ["group: SRV TXT | A AAAA"]],
    [`${INSTANCE} A`, ["group: NSEC"]],
    [`${HOST} A`, ["group: A | AAAA NSEC"]],
    [`${HOST} AAAA`, ["group: AAAA | A NSEC"]],
    [`${HOST} ANY`, ["group: A AAAA | NSEC"]],
    [`${HOST} SRV`, ["group: NSEC"]],
    ["someone-else.local A", []],
    ["other._rpc._tcp.local SRV", []],
    ["_http._tcp.local PTR", []],
  ];
  for (const [question, expected] of table) {
    assert.deepEqual(shown(replies(query([question]), ASKER, [ROBOT])), expected, question);
  }
});

Deno.test("replies() tells the public port, what is served, and lifetimes", () => {
  const [reply] = replies(query(["_rpc._tcp.local PTR"]), ASKER, [ROBOT]);
  const { answers = [], additionals = [] } = reply!.message;
  assert.deepEqual([...answers, ...additionals], [
    { name: "_rpc._tcp.local", type: "PTR", ttl: 4500, data: INSTANCE },
    {
      name: INSTANCE,
      type: "SRV",
      ttl: 120,
      flush: true,
      data: { priority: 0, weight: 0, port: 8080, target: HOST },
    },
    { name: INSTANCE, type: "TXT", ttl: 4500, flush: true, data: ["grpc", "webrtc"] },
    { name: HOST, type: "A", ttl: 120, flush: true, data: "192.0.2.7" },
    { name: HOST, type: "AAAA", ttl: 120, flush: true, data: "fd00::7" },
  ]);
  const [plain] = replies(query(["main.abc.example._rpc._tcp.local TXT"]), ASKER, [OTHER]);
  assert.deepEqual(plain?.message.answers?.[0], {
    name: "main.abc.example._rpc._tcp.local",
    type: "TXT",
    ttl: 4500,
    flush: true,
    data: ["grpc"],
  });
});

Deno.test("replies() says that there are no IPv6 addresses when there are none", () => {
  const [reply] = replies(query(["main.abc.example.local AAAA"]), ASKER, [OTHER]);
  assert.deepEqual(reply?.message.answers, [{
    name: "main.abc.example.local",
    type: "NSEC",
    ttl: 120,
    flush: true,
    data: { nextDomain: "main.abc.example.local", rrtypes: ["A"] },
  }]);
});

Deno.test("replies() gives each instance a message of its own", () => {
  const all = replies(query(["_rpc._tcp.local PTR"]), ASKER, [ROBOT, OTHER]);
  assert.deepEqual(shown(all), ["group: PTR | SRV TXT A AAAA", "group: PTR | SRV TXT A"]);
});

Deno.test("replies() leaves out what the asker knows, unless it forgets it soon", () => {
  const known = (ttl: number, data = INSTANCE): Partial<Packet> => (
    { answers: [{ name: "_rpc._tcp.local", type: "PTR", ttl, data }] }
  );
  const ask = (more: Partial<Packet>) =>
    shown(replies(query(["_rpc._tcp.local PTR"], more), ASKER, [ROBOT]));
  assert.deepEqual(ask(known(4500)), []);
  assert.deepEqual(ask(known(2250)), []);
  assert.deepEqual(ask(known(2249)), ["group: PTR | SRV TXT A AAAA"]);
  assert.deepEqual(ask(known(4500, "other._rpc._tcp.local")), ["group: PTR | SRV TXT A AAAA"]);
  const oldPort = { priority: 0, weight: 0, port: 8079, target: HOST };
  const answers = [{ name: INSTANCE, type: "SRV" as const, ttl: 120, data: oldPort }];
  assert.deepEqual(shown(replies(query([`${INSTANCE} SRV`], { answers }), ASKER, [ROBOT])), [
    "group: SRV | A AAAA",
  ]);
});

Deno.test("replies() answers the sender alone when every question wants that", () => {
  const both = query([`${HOST} A`, "_rpc._tcp.local PTR"], {}, true);
  assert.deepEqual(shown(replies(both, ASKER, [ROBOT])), ["sender: A PTR | AAAA NSEC SRV TXT"]);
  const mixed = query([`${HOST} A`, "_rpc._tcp.local PTR"]);
  mixed.questions![0]!.class = unicastClass();
  assert.deepEqual(shown(replies(mixed, ASKER, [ROBOT])), ["group: A PTR | AAAA NSEC SRV TXT"]);
});

Deno.test("replies() answers resolvers that know nothing of multicast as a server of DNS does", () => {
  const [reply] = replies(query([`${HOST} A`], { id: 77 }), { ...ASKER, port: 40_000 }, [ROBOT]);
  assert.equal(reply?.to, "sender");
  assert.equal(reply.message.id, 77);
  assert.deepEqual(reply.message.questions, [{ name: HOST, type: "A" }]);
  for (const record of [...reply.message.answers ?? [], ...reply.message.additionals ?? []]) {
    assert.ok(record.ttl! <= 10 && !record.flush, record.type);
  }
});

Deno.test("replies() marks what others answer as well, and what defends a name", () => {
  const [shared] = replies(query(["_rpc._tcp.local PTR"]), ASKER, [ROBOT]);
  assert.deepEqual([shared?.isShared, shared?.isDefence], [true, false]);
  const authorities = [{ name: HOST, type: "A" as const, ttl: 120, data: "192.0.2.9" }];
  const [defence] = replies(query([`${HOST} ANY`], { authorities }), ASKER, [ROBOT]);
  assert.deepEqual([defence?.isShared, defence?.isDefence], [false, true]);
});

Deno.test("unasked() takes everything back with no lifetime", () => {
  const record = { name: "_rpc._tcp.local", type: "PTR" as const, ttl: 4500, data: INSTANCE };
  assert.deepEqual(unasked([[record]], "gone"), [
    { type: "response", answers: [{ ...record, ttl: 0 }] },
  ]);
});

import assert from "node:assert/strict";
import type { Logger } from "../../../shared/log/logger.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FakeGroup } from "./fake_group.ts";
import type { InterfaceAddress, Interfaces } from "./links.ts";
import { type Announcement, MachineAnnouncer } from "./machine_announcer.ts";

const OWN = "192.0.2.7";
const STRANGER = "192.0.2.9";
const SERVICE = "_rpc._tcp.local";
/** Longest that a claim takes. */
const CLAIMED_MS = 1_000;

const address = (cidr: string): InterfaceAddress => (
  { address: cidr.split("/")[0]!, family: "IPv4", cidr, internal: cidr.startsWith("127.") }
);

class Rig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly group: FakeGroup;
  readonly logged: string[] = [];
  interfaces: Interfaces = { eth0: [address(`${OWN}/24`)] };
  readonly announcer: MachineAnnouncer;

  constructor(group = new FakeGroup(), own = OWN) {
    this.group = group;
    this.interfaces = { eth0: [address(`${own}/24`)] };
    const write = (level: string) => (message: string) =>
      void this.logged.push(`${level} ${message}`);
    const log: Logger = {
      name: "rdk.networking",
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      child: () => log,
      isEnabled: () => true,
    };
    this.announcer = new MachineAnnouncer({
      interfaces: () => this.interfaces,
      hostname: "raspi",
      open: this.group.open,
      clock: this.clock,
      random: () => 0.5,
      log,
    });
  }

  async set(more: Partial<Announcement> = {}): Promise<void> {
    this.announcer.set({
      given: ["robot"],
      hostname: "0.0.0.0",
      port: 8080,
      webrtc: false,
      ...more,
    });
    await this.clock.advance(0);
  }

  /** Announced, and what was said on the way is forgotten. */
  async announced(more: Partial<Announcement> = {}): Promise<void> {
    await this.set(more);
    await this.clock.advance(CLAIMED_MS + 2_000);
    this.group.lines();
  }

  warnings(): string[] {
    return this.logged.filter((line) => /^(warn|error)/.test(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = this.announcer.close();
    await this.clock.advance(1_000);
    await closing;
  }
}

const RECORDS = (name: string, port: number, from = OWN, gone = "") => [
  `${from} PTR ${SERVICE} ${name}.${SERVICE}${gone}`,
  `${from} SRV ${name}.${SERVICE} ${port}${gone}`,
  `${from} TXT ${name}.${SERVICE} grpc${gone}`,
  `${from} A ${name}.local ${from}${gone}`,
];

Deno.test("MachineAnnouncer asks three times, announces twice, says goodbye once", async () => {
  const rig = new Rig();
  await rig.set();
  await rig.clock.advance(CLAIMED_MS);
  const probe = `${OWN} ? robot.${SERVICE} robot.local`;
  assert.deepEqual(rig.group.lines(), [probe, probe, probe, ...RECORDS("robot", 8080)]);
  await rig.clock.advance(1_000);
  assert.deepEqual(rig.group.lines(), RECORDS("robot", 8080));
  await rig.clock.advance(60_000);
  assert.deepEqual(rig.group.lines(), [], "nothing more is said unasked");
  await rig[Symbol.asyncDispose]();
  assert.deepEqual(rig.group.lines(), RECORDS("robot", 8080, OWN, " gone"));
  assert.equal(rig.group.size, 0);
  assert.equal(rig.clock.pendingTimers, 0);
});

Deno.test("MachineAnnouncer begins no answer while it says goodbye", async () => {
  const rig = new Rig();
  await rig.announced();
  rig.group.onSent = ({ message }) => {
    if (message.type === "query") return;
    rig.group.say(STRANGER, { type: "query", questions: [{ name: SERVICE, type: "PTR" }] });
  };
  const closing = rig.announcer.close();
  await rig.clock.advance(0);
  await closing;
  assert.equal(rig.group.lines().filter((line) => line.endsWith("gone")).length, 4);
  assert.equal(rig.clock.pendingTimers, 0);
});

Deno.test("MachineAnnouncer says nothing of what it never announced", async () => {
  const rig = new Rig();
  await rig.set();
  await rig.clock.advance(400);
  rig.group.lines();
  await rig[Symbol.asyncDispose]();
  assert.deepEqual(rig.group.lines(), []);
});

Deno.test("MachineAnnouncer takes back the port that it leaves, then tells the new one", async () => {
  await using rig = new Rig();
  await rig.announced();
  await rig.set({ port: 9090 });
  await rig.clock.advance(CLAIMED_MS);
  const lines = rig.group.lines();
  assert.deepEqual(lines.slice(0, 4), RECORDS("robot", 8080, OWN, " gone"));
  assert.deepEqual(lines.slice(-4), RECORDS("robot", 9090));
  assert.deepEqual(rig.warnings(), []);
});

Deno.test("MachineAnnouncer leaves everything alone when it is told the same again", async () => {
  await using rig = new Rig();
  await rig.announced();
  await rig.set();
  await rig.clock.advance(60_000);
  assert.deepEqual(rig.group.lines(), []);
  assert.equal(rig.group.opened, 1);
});

Deno.test("MachineAnnouncer answers at once what is its own, and after a moment what others answer too", async () => {
  await using rig = new Rig();
  await rig.announced();
  const ask = (name: string, type: "A" | "PTR") =>
    rig.group.say(STRANGER, { type: "query", questions: [{ name, type }] });
  ask("robot.local", "A");
  await rig.clock.advance(0);
  assert.deepEqual(rig.group.lines().slice(1), [`${OWN} A robot.local ${OWN}`]);
  ask(SERVICE, "PTR");
  await rig.clock.advance(19);
  assert.deepEqual(rig.group.lines().slice(1), []);
  await rig.clock.advance(101);
  assert.deepEqual(rig.group.lines(), RECORDS("robot", 8080).slice(0, 1));
});

Deno.test("MachineAnnouncer answers the asker alone when it has just told all", async () => {
  await using rig = new Rig();
  await rig.announced();
  const ask = async () => {
    rig.group.say(STRANGER, { type: "query", questions: [{ name: "robot.local", type: "A" }] });
    await rig.clock.advance(0);
    return rig.group.lines().slice(1);
  };
  assert.deepEqual(await ask(), [`${OWN} A robot.local ${OWN}`]);
  assert.deepEqual(await ask(), [`${OWN}>${STRANGER} A robot.local ${OWN}`]);
  await rig.clock.advance(1_000);
  assert.deepEqual(await ask(), [`${OWN} A robot.local ${OWN}`]);
});

Deno.test("MachineAnnouncer gives a flood of queries no flood of answers", async () => {
  await using rig = new Rig();
  await rig.announced();
  for (let i = 0; i < 1_000; i++) {
    rig.group.say(STRANGER, { type: "query", questions: [{ name: "robot.local", type: "A" }] });
  }
  await rig.clock.advance(0);
  assert.equal(rig.group.lines().filter((line) => line.startsWith(OWN)).length, 50);
});

Deno.test("MachineAnnouncer waits for the rest of what an asker knows", async () => {
  await using rig = new Rig();
  await rig.announced();
  const questions = [{ name: SERVICE, type: "PTR" as const }];
  const data = `robot.${SERVICE}`;
  const answers = [{ name: SERVICE, type: "PTR" as const, ttl: 4500, data }];
  const truncated = 1 << 9;
  rig.group.say(STRANGER, { type: "query", questions, flags: truncated });
  await rig.clock.advance(100);
  rig.group.say(STRANGER, { type: "query", questions: [], answers });
  await rig.clock.advance(2_000);
  assert.deepEqual(rig.group.lines().filter((line) => line.startsWith(OWN)), []);
  rig.group.say(STRANGER, { type: "query", questions, flags: truncated });
  await rig.clock.advance(2_000);
  assert.equal(rig.group.lines().filter((line) => line.startsWith(OWN)).length, 1);
});

Deno.test("MachineAnnouncer does not answer who is not on the link", async () => {
  await using rig = new Rig();
  await rig.announced();
  rig.group.say("203.0.113.5", {
    type: "query",
    questions: [{ name: "robot.local", type: "A" }],
  });
  await rig.clock.advance(1_000);
  assert.equal(rig.group.lines().length, 1, "the question");
});

Deno.test("MachineAnnouncer takes another name when that of its host is taken", async () => {
  const group = new FakeGroup();
  await using first = new Rig(group, STRANGER);
  await first.announced({ given: [] });
  await using second = new Rig(group);
  await second.set({ given: [] });
  await second.clock.advance(3 * CLAIMED_MS);
  assert.deepEqual(group.lines().slice(-4), RECORDS("raspi-8080-2", 8080));
  assert.deepEqual(second.warnings(), []);
});

Deno.test("MachineAnnouncer keeps quiet while another machine has the name that it was given", async () => {
  const group = new FakeGroup();
  const first = new Rig(group, STRANGER);
  await first.announced();
  await using second = new Rig(group);
  await second.set();
  await second.clock.advance(30_000);
  const ofSecond = () => group.lines().filter((line) => /^192\.0\.2\.7 [^?]/.test(line));
  assert.deepEqual(ofSecond(), []);
  assert.match(second.warnings().join(), /another machine in this network has the name/);
  await first[Symbol.asyncDispose]();
  await second.clock.advance(60_000);
  assert.deepEqual(ofSecond().slice(0, 4), RECORDS("robot", 8080));
  assert.equal(second.warnings().length, 1);
});

Deno.test("MachineAnnouncer of two that begin at once lets one have the name", async () => {
  const group = new FakeGroup();
  await using first = new Rig(group, STRANGER);
  await using second = new Rig(group);
  await Promise.all([first.set({ given: [] }), second.set({ given: [] })]);
  for (let step = 0; step < 80; step++) {
    for (const { clock } of [first, second]) await clock.advance(50);
  }
  const names = new Set(group.lines().flatMap((line) => / SRV (\S+?)\._rpc/.exec(line)?.[1] ?? []));
  assert.deepEqual([...names].sort(), ["raspi-8080", "raspi-8080-2"]);
  assert.deepEqual([...first.warnings(), ...second.warnings()], []);
});

Deno.test("MachineAnnouncer claims its name again when it hears that it is another's", async () => {
  await using rig = new Rig();
  await rig.announced();
  const record = { name: "robot.local", type: "A" as const, ttl: 120, data: STRANGER };
  rig.group.say(STRANGER, { type: "response", answers: [record] });
  await rig.clock.advance(4_000);
  const lines = rig.group.lines().slice(1);
  assert.match(lines[0] ?? "", /\? robot/);
  assert.deepEqual(lines.slice(-4), RECORDS("robot", 8080));
  assert.deepEqual(rig.warnings(), [], "nobody defended it");
});

Deno.test("MachineAnnouncer yields a name that another defends, and does not take back what is the other's", async () => {
  const rig = new Rig();
  await rig.announced();
  const answers = [{ name: "robot.local", type: "A" as const, ttl: 120, data: STRANGER }];
  const defend = () => rig.group.say(STRANGER, { type: "response", answers });
  defend();
  await rig.clock.advance(1_500);
  assert.match(rig.group.lines().at(-1) ?? "", /\? robot/);
  defend();
  await rig.clock.advance(0);
  assert.equal(rig.warnings().length, 1);
  rig.group.lines();
  rig.group.say(STRANGER, { type: "query", questions: [{ name: SERVICE, type: "PTR" }] });
  await rig.clock.advance(5_000);
  await rig[Symbol.asyncDispose]();
  assert.deepEqual(rig.group.lines().slice(1), [], "neither an answer nor a goodbye");
});

Deno.test("MachineAnnouncer defends its name against all, also when it has just told it", async () => {
  await using rig = new Rig();
  await rig.announced();
  const data = STRANGER;
  const authorities = [{ name: "robot.local", type: "A" as const, ttl: 120, data }];
  for (let times = 0; times < 2; times++) {
    rig.group.say(STRANGER, {
      type: "query",
      questions: [{ name: "robot.local", type: "A" }],
      authorities,
    });
    await rig.clock.advance(0);
    assert.deepEqual(rig.group.lines().slice(1), [`${OWN} A robot.local ${OWN}`]);
  }
});

Deno.test("MachineAnnouncer follows links that come and go, within ten seconds", async () => {
  await using rig = new Rig();
  await rig.announced();
  rig.interfaces = { ...rig.interfaces, wlan0: [address("198.51.100.7/24")] };
  await rig.clock.advance(10_000 + CLAIMED_MS);
  assert.deepEqual(rig.group.lines().slice(-4), RECORDS("robot", 8080, "198.51.100.7"));
  rig.interfaces = {};
  await rig.clock.advance(10_000);
  assert.equal(rig.group.size, 0);
  rig.group.lines();
  rig.interfaces = { eth0: [address(`${OWN}/24`)] };
  await rig.clock.advance(10_000 + CLAIMED_MS);
  assert.deepEqual(rig.group.lines().slice(-4), RECORDS("robot", 8080));
});

Deno.test("MachineAnnouncer says once that a link is away, and announces when it is back", async () => {
  await using rig = new Rig();
  await rig.announced();
  const unreachable = new Error("Network is unreachable");
  rig.group.broken.set(OWN, unreachable);
  rig.group.say(STRANGER, { type: "query", questions: [{ name: "robot.local", type: "A" }] });
  await rig.clock.advance(60_000);
  assert.equal(rig.logged.filter((line) => line.includes("nothing can be announced")).length, 1);
  rig.group.lines();
  rig.group.broken.clear();
  await rig.clock.advance(10_000 + CLAIMED_MS);
  assert.deepEqual(rig.group.lines().slice(-4), RECORDS("robot", 8080));
  assert.deepEqual(rig.warnings(), []);
});

Deno.test("MachineAnnouncer warns once when it gets no port, and tries again", async () => {
  await using rig = new Rig();
  rig.group.refused = new Error("Address already in use");
  await rig.set();
  await rig.clock.advance(60_000);
  assert.equal(rig.warnings().length, 1);
  assert.match(rig.warnings()[0]!, /cannot be announced.*Address already in use.*-disable-mdns/);
  rig.group.refused = undefined;
  await rig.clock.advance(10_000 + CLAIMED_MS);
  assert.deepEqual(rig.group.lines().slice(-4), RECORDS("robot", 8080));
});

Deno.test("MachineAnnouncer has nothing to do where the bound address is of no link", async () => {
  await using rig = new Rig();
  await rig.set({ hostname: "203.0.113.77" });
  await rig.clock.advance(60_000);
  assert.equal(rig.group.opened, 0);
});

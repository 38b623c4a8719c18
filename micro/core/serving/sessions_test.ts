import assert from "node:assert/strict";
import { Machine } from "../machine.ts";
import { fakes } from "../models/fakes.ts";
import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import { FakeHost } from "../testing.ts";
import { Access, type Caller } from "./access.ts";
import { Services } from "./services.ts";
import { MOST_SESSIONS, Sessions } from "./sessions.ts";

const CALLER: Caller = { entity: "key", role: "operator" };
const ROBOT = "/viam.robot.v1.RobotService";
const MOTOR = "/viam.component.motor.v1.MotorService";

/** A machine with two motors, called through the cloud. */
function setUp() {
  const host = new FakeHost();
  let last = 0;
  host.random = (length) => new Uint8Array(length).fill(++last);
  const machine = new Machine(host, fakes);
  const motor = { api: "rdk:component:motor", model: "rdk:builtin:fake", attributes: {} };
  machine.graph.apply(["a", "b"].map((name) => ({ ...motor, name, dependsOn: [] })), "1");
  const access = new Access({
    host,
    secret: "part",
    keys: () => [],
    verify: () => Promise.reject(new Error("no cloud")),
  });
  const warnings: string[] = [];
  const sessions = new Sessions({
    host,
    halt: (names) => machine.graph.halt(names),
    warn: (text) => void warnings.push(text),
  });
  const services = new Services({ machine, access, sessions, version: "1", restart: host.restart });
  const call = async (path: string, request: unknown, session = "", caller = CALLER) => {
    const admitted = services.admitRelayed(path, caller, session);
    const answer = await services.call(admitted, utf8(JSON.stringify(request)), "json");
    return JSON.parse(fromUtf8(answer));
  };
  const start = async (): Promise<string> => (await call(`${ROBOT}/StartSession`, {})).id;
  const power = (name: string, session?: string) =>
    call(`${MOTOR}/SetPower`, { name, powerPct: 0.5 }, session);
  const moving = async () => {
    const found: string[] = [];
    for (const name of ["a", "b"]) {
      if ((await call(`${MOTOR}/IsMoving`, { name })).isMoving) found.push(name);
    }
    return found.join("");
  };
  return { host, sessions, warnings, call, start, power, moving };
}

Deno.test("Sessions stops what a silent client moved, and nothing else", async () => {
  const { host, warnings, call, start, power, moving } = setUp();
  const id = await start();
  await power("a", id);
  await power("b");
  for (let beat = 0; beat < 5; beat++) {
    await host.advance(1_900);
    await call(`${ROBOT}/SendSessionHeartbeat`, { id });
  }
  assert.equal(await moving(), "ab");
  await host.advance(2_000);
  assert.equal(await moving(), "b");
  assert.deepEqual(warnings, ["a session of key expired; what it moved is stopped: a"]);
  await assert.rejects(power("a", id), /SESSION_EXPIRED/);
  await assert.rejects(call(`${ROBOT}/SendSessionHeartbeat`, { id }), /SESSION_EXPIRED/);
  assert.equal(await moving(), "b");
});

Deno.test("Sessions leaves alone what another client moved since", async () => {
  const { host, start, power, moving, sessions } = setUp();
  const [first, second] = [await start(), await start()];
  await power("a", first);
  await power("b", first);
  await host.advance(1_000);
  await power("a", second);
  await power("b");
  await host.advance(1_500);
  assert.equal(await moving(), "ab");
  await host.advance(500);
  assert.equal(await moving(), "b");
  assert.deepEqual(sessions.ids, []);
});

Deno.test("Sessions are the caller's own, can be resumed, and are bounded", async () => {
  const { host, sessions, call, start, power } = setUp();
  const id = await start();
  const other: Caller = { entity: "other", role: "owner" };
  await assert.rejects(call(`${ROBOT}/SendSessionHeartbeat`, { id }, "", other), /SESSION_EXPIRED/);
  await assert.rejects(call(`${MOTOR}/IsMoving`, { name: "a" }, id, other), /SESSION_EXPIRED/);
  assert.equal((await call(`${ROBOT}/StartSession`, { resume: id })).id, id);
  assert.notEqual((await call(`${ROBOT}/StartSession`, { resume: id }, "", other)).id, id);
  while (sessions.ids.length < MOST_SESSIONS) await start();
  await assert.rejects(start(), /sessions are open/);
  await host.advance(1_000);
  await power("a", id);
  assert.equal((await call(`${ROBOT}/GetSessions`, {})).sessions.length, MOST_SESSIONS);
  await host.advance(1_000);
  assert.deepEqual(sessions.ids, [id], "every call of a session is a heartbeat");
});

Deno.test("Sessions take the window of the configuration", async () => {
  const { host, sessions, call, start, power, moving } = setUp();
  await power("a", await start());
  sessions.windowMs = 10_000;
  await host.advance(9_999);
  assert.equal(await moving(), "a");
  await host.advance(1);
  assert.equal(await moving(), "");
  assert.equal((await call(`${ROBOT}/StartSession`, {})).heartbeatWindow, "10s");
});

// A script for a native host: days of a machine, as fast as they are computed. The real core runs with
// a clock, a network and a cloud in the script's own memory. After each hour a line of JSON says how
// much heap is in use.
import type { Json } from "../../../shared/gen/micro/messages.ts";
import { fromUtf8, utf8 } from "../../core/bytes/utf8.ts";
import { HttpClient } from "../../core/http/client.ts";
import { start } from "../../core/main.ts";
import { type Model, model } from "../../core/resources/models.ts";
import { nativeHost } from "../native/host.ts";
import { type Dispatch, EVENT, type Native } from "../native/native.ts";
import { type Received, ScriptedCloud } from "./scripted_cloud.ts";
import { VirtualHost } from "./virtual_host.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The cloud comes up after the machine, which has no time until then. */
const FIRST_REACHED = 10 * MINUTE;
const RECONNECT = 20 * MINUTE;
const AWAY_EVERY_HOURS = 12;
const AWAY_FROM_HOUR = 4;
const AWAY_TO_HOUR = 7;
/** The clock of the device goes wrong in this hour of each day, while the cloud is away. */
const WRONG_CLOCK_HOUR = 5;
const KEY = { id: "the-key", key: "its secret" };
const CREDENTIALS = JSON.stringify({
  cloud: { id: "part", secret: "the part's secret", app_address: "https://cloud.test" },
});

/** What a test asks for, as the machine's credentials. */
export interface Days {
  readonly hours: number;
  /** Between two captured readings. Milliseconds. */
  readonly everyMs: number;
  /** Whether the driver keeps an object of each reading. */
  readonly leaks: boolean;
}

/** The line of an hour. */
export interface Hour {
  readonly hour: number;
  /** Bytes of the heap, garbage collected. */
  readonly heap: number;
  readonly isAway: boolean;
  readonly openEnds: number;
  readonly localCalls: number;
  readonly received: Received;
}

const isAwayAt = (hour: number): boolean => {
  const of = hour % AWAY_EVERY_HOURS;
  return of >= AWAY_FROM_HOUR && of < AWAY_TO_HOUR;
};

/** A sensor that logs now and then, and may keep what it should not. */
function chatty(leaks: boolean): Model {
  const kept: object[] = [];
  return model("rdk:component:sensor", "test:days:chatty", ({ log, host }) => {
    let count = 0;
    return {
      getReadings() {
        count++;
        if (count % 20 === 0) log(count % 60 === 0 ? "warn" : "info", `reading ${count}`);
        if (leaks) kept.push({ count });
        return { readings: { count, uptime: host.now(), text: "a text of some length" } };
      },
    };
  });
}

const component = (name: string, modelName: string, api = "sensor", attributes = {}) => ({
  name,
  api: `rdk:component:${api}`,
  model: modelName.includes(":") ? modelName : `rdk:builtin:${modelName}`,
  attributes,
});

function configuration(revision: number, everyMs: number, extra: readonly object[] = []) {
  const captured = {
    type: "rdk:service:data_manager",
    attributes: {
      capture_methods: [{ method: "Readings", capture_frequency_hz: SECOND / everyMs }],
    },
  };
  return {
    revision: `revision ${revision}`,
    components: [
      { ...component("chatty", "test:days:chatty"), serviceConfigs: [captured] },
      component("fake", "fake", "sensor", { readings: { revision } }),
      component("wheel", "fake", "motor"),
      component("encoder", "fake", "encoder"),
      component("host", "host"),
      ...extra,
    ],
    services: [
      { name: "data", api: "rdk:service:data_manager", attributes: {} },
      {
        ...{ name: "firmware", api: "rdk:service:generic", model: "rdk:builtin:ota_service" },
        attributes: {
          ...{ url: "https://cloud.test/image", version: "2.0.0", sha256: "0".repeat(64) },
        },
      },
    ] satisfies Json[],
  };
}

/** Calls the machine over a connection of its own, as somebody in its network. */
async function callLocally(host: VirtualHost): Promise<void> {
  const client = new HttpClient(host, { host: "127.0.0.1", port: 8080, tls: false });
  const call = async (path: string, body: Json, headers = {}) => {
    const { status, body: answer } = await client.request({
      ...{ method: "POST", path, body: utf8(JSON.stringify(body)), timeoutMs: MINUTE, most: 4096 },
      headers: { "content-type": "application/json", ...headers },
    });
    const text = fromUtf8(answer);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
  try {
    const { accessToken = "" } = await call("/proto.rpc.v1.AuthService/Authenticate", {
      ...{ entity: KEY.id, credentials: { type: "api-key", payload: KEY.key } },
    });
    const headers = { authorization: `Bearer ${accessToken}` };
    await call("/viam.robot.v1.RobotService/StartSession", {}, headers);
    const sensor = "/viam.component.sensor.v1.SensorService/GetReadings";
    await call(sensor, { name: "fake" }, headers);
  } finally {
    client.close();
  }
}

/** Plays what happens around the machine; gives the count of local calls so far. */
function play(host: VirtualHost, cloud: ScriptedCloud, { everyMs }: Days): () => number {
  let revision = 0;
  let calls = 0;
  const every = (ms: number, first: number, work: (hour: number) => void) => {
    const due = () => {
      host.setTimer(ms, due);
      work(Math.floor(host.now() / HOUR));
    };
    host.setTimer(first, due);
  };
  const save = (extra: readonly object[] = []) => {
    cloud.config = configuration(++revision, everyMs, extra) as never;
    cloud.announce();
  };
  save();
  host.isOnline = false;
  host.setTimer(FIRST_REACHED, () => void (host.isOnline = true));
  every(RECONNECT, RECONNECT, (hour) => {
    host.isOnline = false;
    host.cut();
    if (!isAwayAt(hour)) host.setTimer(30 * SECOND, () => void (host.isOnline = true));
  });
  every(HOUR, 5 * MINUTE, (hour) => {
    const unknown = component("new", "nobody:knows:this");
    const wrong = component("wrong", "fake", "sensor", { readings: 3 });
    const many = Array.from({ length: 70 }, (_, i) => component(`s${i}`, "fake"));
    save(hour % 5 === 4 ? many : [unknown, wrong]);
    if (hour % 24 === WRONG_CLOCK_HOUR) host.setWallClock(Date.UTC(1980, 0, 1));
  });
  every(HOUR, 25 * MINUTE, () => save());
  every(HOUR, 12 * MINUTE, () => cloud.requestLive(MINUTE));
  every(10 * MINUTE, 11 * MINUTE, () => {
    cloud.call("/viam.component.sensor.v1.SensorService/GetReadings", { name: "fake" });
    void callLocally(host).then(() => void calls++, () => undefined);
  });
  every(24 * HOUR, 2.5 * HOUR, (hour) => {
    cloud.certificate = `certificate ${hour}`;
    cloud.keys = [KEY.id, `another ${hour}`];
    cloud.rotate();
  });
  cloud.keys = [KEY.id];
  return () => calls;
}

/** Something in a circle, which only a collection finds. */
function circle(): WeakRef<object> {
  const one: { self?: object } = {};
  one.self = one;
  return new WeakRef(one);
}

/** Bytes in use after a collection, which the engine begins when enough new objects were made. */
function heapInUse(native: Native): number {
  const first = circle();
  while (first.deref()) circle();
  return native.memoryUsed();
}

function machineMicro(native: Native, optionsText: string): Dispatch {
  const { host: own } = nativeHost(native, { version: "days", onStop: () => undefined });
  const options = JSON.parse(optionsText) as { credentials?: string };
  const kept = native.flashRead("credentials");
  const days = JSON.parse(options.credentials ?? (kept ? fromUtf8(kept) : "{}")) as Days;
  const host = new VirtualHost(own);
  const cloud = new ScriptedCloud(host);
  host.peer = (connection) => cloud.accept(connection);
  const localCalls = play(host, cloud, days);
  start(host, { credentials: CREDENTIALS, version: "1.0.0", models: [chatty(days.leaks)] });
  let hour = 0;
  const measure = () => {
    hour++;
    const line: Hour = {
      ...{ hour, heap: heapInUse(native), isAway: isAwayAt(hour - 1), openEnds: host.openEnds },
      ...{ localCalls: localCalls(), received: cloud.received },
    };
    native.log(JSON.stringify(line));
    host.setTimer(HOUR, measure);
  };
  host.setTimer(HOUR - SECOND / 3, measure);
  // A board's loader has begun it, and the machine feeds that of its own host.
  native.watchdog(0);
  native.setTimer(0);
  return (kind) => {
    if (kind !== EVENT.timer || hour === days.hours) return;
    // The next turn is there even where this one throws.
    native.setTimer(0);
    host.step();
  };
}

Object.assign(globalThis, { machineMicro });

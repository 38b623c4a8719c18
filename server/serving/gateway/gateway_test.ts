/** What can be called at the JSON gateway, and what bodies may wait there. */
import assert from "node:assert/strict";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ButtonService } from "../../../shared/gen/viam/component/button/v1/button_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import { servedApis } from "../apis/all.ts";
import { type ServedApi, servedApi } from "../apis/served_api.ts";
import { Gateway } from "./gateway.ts";

const SENSOR = servedApi("rdk:component:sensor", SensorService);
const MIB = 1024 * 1024;
/** White space of JSON; every body sends the same, so that they take no memory here. */
const PIECE = new Uint8Array(MIB).fill(0x20);

function openGateway(apis: readonly ServedApi[] = [SENSOR]): Gateway {
  return new Gateway({
    mount: (router: RpcRouter) => {
      router.service(RobotService, { getVersion: () => ({}), resourceNames: () => ({}) })
        .service(SensorService, { getReadings: () => ({}) })
        .service(ButtonService, { push: () => ({}) });
    },
    apis: () => apis,
    interceptors: [],
    allowsOrigin: () => false,
    version: "1.0.0",
    nowMs: () => 0,
  });
}

/** A call whose body has so many MiB and then continues for as long as nobody ends it. */
class OpenCall {
  readonly answer: Promise<Response>;
  taken = 0;
  isHeld = false;
  readonly #end = Promise.withResolvers<void>();

  constructor(gateway: Gateway, address: string, mib: number) {
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: async (controller) => {
        if (this.taken < mib) {
          this.taken++;
          return controller.enqueue(PIECE);
        }
        // What came before is counted when more is wanted.
        this.isHeld = true;
        await this.#end.promise;
        controller.close();
      },
    }, { highWaterMark: 0 });
    const request = new Request("http://machine/api/sensor/s/GetReadings", {
      method: "POST",
      body,
    });
    const peer = { address, port: 1, transport: "tcp", local: false } as const;
    this.answer = gateway.answer(request, peer);
  }

  async end(): Promise<number> {
    this.#end.resolve();
    return (await this.answer).status;
  }
}

async function held(gateway: Gateway, address: string, mib: number): Promise<OpenCall> {
  const call = new OpenCall(gateway, address, mib);
  await waitFor(() => call.isHeld, { deadlineMs: 60_000, what: `${mib} MiB taken` });
  return call;
}

async function refused(
  gateway: Gateway,
  { address, mib, where }: { address: string; mib: number; where: string },
): Promise<void> {
  const call = new OpenCall(gateway, address, mib);
  const soon = await Promise.race([
    call.answer,
    waitFor(() => call.isHeld, { deadlineMs: 60_000 }),
  ]);
  assert.ok(soon, "all of it was taken");
  const response = await call.answer;
  assert.equal(response.status, 429);
  assert.match((await response.json()).message, new RegExp(`unfinished requests wait ${where};`));
}

Deno.test("bodies that wait at the gateway have a bound in all, whatever addresses they come from", async () => {
  const gateway = openGateway();
  const waiting: OpenCall[] = [];
  for (let n = 0; n < 4; n++) waiting.push(await held(gateway, `192.0.2.${n}`, 31));
  await refused(gateway, { address: "192.0.2.9", mib: 8, where: "here" });
  const last = await held(gateway, "192.0.2.9", 4);
  assert.equal(await waiting[0]!.end(), 200);
  const next = await held(gateway, "192.0.2.9", 31);
  for (const call of [...waiting.slice(1), last, next]) assert.equal(await call.end(), 200);
});

Deno.test("one address has half of what may wait at the gateway, and a body 32 MiB", async () => {
  const gateway = openGateway();
  const waiting = [await held(gateway, "192.0.2.1", 32), await held(gateway, "192.0.2.1", 31)];
  await refused(gateway, { address: "192.0.2.1", mib: 2, where: "from this address" });
  const other = await held(gateway, "192.0.2.2", 31);
  for (const call of [...waiting, other]) assert.equal(await call.end(), 200);
  const large = new OpenCall(gateway, "192.0.2.3", 33);
  assert.equal((await large.answer).status, 429);
});

Deno.test("an API that a module brings is at the gateway and in its document from then on", async () => {
  const apis = [SENSOR];
  const gateway = openGateway(apis);
  const ask = (path: string, method: string) =>
    gateway.answer(new Request(`http://machine/api/${path}`, { method }), {
      ...{ address: "192.0.2.1", port: 1, transport: "tcp", local: false },
    });
  const push = async (api: string) => (await ask(`${api}/front/Push`, "POST")).status;
  const paths = async () => Object.keys((await (await ask("openapi.json", "GET")).json()).paths);
  assert.equal(await push("bell"), 404);
  assert.deepEqual((await paths()).filter((path) => path.endsWith("Push")), []);
  apis.push(servedApi("acme:component:bell", ButtonService));
  assert.deepEqual([await push("bell"), await push("acme:component:bell")], [200, 200]);
  assert.deepEqual((await paths()).filter((path) => path.endsWith("Push")), [
    "/api/bell/{name}/Push",
  ]);
});

Deno.test("every unary call of every API is at the gateway and in its document", async () => {
  const registry = new ModelRegistry();
  const resources = new ResourceManager({ registry, clock: systemClock, log: memoryLogger() });
  const gateway = new Gateway({
    mount: (router: RpcRouter) => {
      router.service(RobotService, { getVersion: () => ({}), resourceNames: () => ({}) });
      for (const each of servedApis) each.mount(router, resources.index);
    },
    apis: () => servedApis,
    ...{ interceptors: [], allowsOrigin: () => false, version: "1.0.0", nowMs: () => 0 },
  });
  const peer = { address: "192.0.2.1", port: 1, transport: "tcp", local: false } as const;
  const ask = async (path: string, method: string) =>
    await (await gateway.answer(new Request(`http://machine${path}`, { method }), peer)).json();
  const { paths } = await ask("/api/openapi.json", "GET");
  const documented = Object.keys(paths).filter((path) => !path.startsWith("/api/robot/"));
  const found: string[] = [];
  for (const { api, service } of servedApis) {
    for (const { name, methodKind } of service.methods) {
      if (methodKind !== "unary") continue;
      const { message } = await ask(`/api/${api}/front/${name}`, "POST");
      assert.match(message, /name front/, `${api} ${name}`);
      const subtype = api === "rdk:service:generic" ? api : api.split(":").at(-1);
      found.push(`/api/${subtype}/{name}/${name}`);
    }
  }
  assert.deepEqual(found.toSorted(), documented.toSorted());
});

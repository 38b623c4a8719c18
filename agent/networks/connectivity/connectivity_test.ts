import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { answersOverHttp, Connectivity, type ConnectivityOptions } from "./connectivity.ts";

const never = new AbortController().signal;
const yes = () => Promise.resolve(true);
const no = () => Promise.resolve(false);

function rig(change: Partial<ConnectivityOptions> = {}) {
  const clock = new FakeClock();
  const connectivity = new Connectivity({
    cloudAnswered: () => false,
    askCloud: no,
    askProbe: no,
    managerSays: () => Promise.resolve(0),
    clock,
    ...change,
  });
  return { clock, connectivity };
}

Deno.test("look() believes the cloud, NetworkManager's full, and the operator's probe", async () => {
  assert.equal(await rig({ cloudAnswered: () => true }).connectivity.look(never), "cloud");
  const says = (state: number) => rig({ managerSays: () => Promise.resolve(state) });
  assert.equal(await says(4).connectivity.look(never), "NetworkManager");
  assert.equal(await says(2).connectivity.look(never), undefined);
  const { clock, connectivity } = rig({ askProbe: yes });
  assert.equal(await connectivity.look(never), undefined, "it does not wait for the network");
  await clock.advance(1);
  assert.equal(await connectivity.look(never), "probe");
});

Deno.test("look() asks every 10 s, and a clock set back by a year changes nothing", async () => {
  let asked = 0;
  let answer = true;
  const { clock, connectivity } = rig({ askCloud: () => Promise.resolve((asked++, answer)) });
  await connectivity.look(never);
  await clock.advance(1);
  assert.equal(await connectivity.look(never), "cloud");
  clock.setNow("2025-01-02T03:04:05Z");
  answer = false;
  await clock.advance(9_000);
  await connectivity.look(never);
  assert.equal(asked, 1);
  await clock.advance(1_000);
  await connectivity.look(never);
  await clock.advance(1);
  assert.equal(asked, 2);
  assert.equal(await connectivity.look(never), undefined);
});

Deno.test("confirm() takes only answers from after the change", async () => {
  let answer = true;
  const { clock, connectivity } = rig({ askCloud: () => Promise.resolve(answer) });
  await connectivity.look(never);
  answer = false;
  const failing = connectivity.confirm(20_000, never);
  await clock.advance(30_000);
  assert.match(await failing ?? "", /within 20 s/);
  const again = connectivity.confirm(20_000, never);
  await clock.advance(5_000);
  answer = true;
  await clock.advance(5_000);
  assert.equal(await again, undefined);
});

Deno.test("answersOverHttp() tells an answer from none, and does not follow a portal", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ({ url }) =>
      url.endsWith("/204")
        ? new Response(null, { status: 204 })
        : Response.redirect("http://127.0.0.1:1/login"),
  );
  const at = `http://127.0.0.1:${server.addr.port}`;
  const isEmpty = (status: number) => status === 204;
  assert.equal(await answersOverHttp(`${at}/204`, never, isEmpty), true);
  assert.equal(await answersOverHttp(`${at}/portal`, never, isEmpty), false);
  assert.equal(await answersOverHttp(`${at}/portal`, never), true);
  await server.shutdown();
  assert.equal(await answersOverHttp(`${at}/204`, never), false);
});

import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { httpSensorModel } from "./http_sensor_model.ts";
import { withSite } from "./testing.ts";

function build(attributes: JsonObject, overrides = {}, log = memoryLogger()): Promise<Sensor> {
  const model = httpSensorModel(testEnvironment(overrides));
  return construct<Sensor, unknown>(model, attributes, { log });
}

async function read(sensor: Sensor, signal?: AbortSignal) {
  return await sensor.getReadings(undefined, testCall(signal));
}

const isJson = (value: unknown) => Response.json(value);

Deno.test("httpSensorModel() reads the JSON of the address with the given headers", () =>
  withSite(
    (request) =>
      isJson({ key: request.headers.get("x-key"), accept: request.headers.get("accept") }),
    async ({ origin, requests }) => {
      const sensor = await build({ url: `${origin}/now?unit=c`, headers: { "X-Key": "k" } });
      assert.deepEqual(await read(sensor), { key: "k", accept: "application/json" });
      assert.deepEqual(requests, ["GET /now?unit=c"]);
      await sensor.close?.();
    },
  ));

Deno.test("httpSensorModel() signs in with user and password of the address", () =>
  withSite((request) => isJson({ sent: request.headers.get("authorization") }), async (site) => {
    const url = site.origin.replace("http://", "http://ann:p%40ss@");
    assert.deepEqual(await read(await build({ url })), { sent: `Basic ${btoa("ann:p@ss")}` });
  }));

Deno.test("httpSensorModel() follows the path into the answer", () =>
  withSite(() => isJson({ list: [{ celsius: 20 }] }), async ({ origin }) => {
    assert.deepEqual(await read(await build({ url: origin, path: "list[0]" })), { celsius: 20 });
    await assert.rejects(
      read(await build({ url: `${origin}/x?k=1`, path: "list[1]" })),
      new RegExp(`the answer of ${origin}/x has nothing at list\\[1\\]`),
    );
  }));

Deno.test("httpSensorModel() tells address and status without what is secret", () =>
  withSite(
    ({ url }) =>
      new URL(url).pathname === "/gone"
        ? new Response("no", { status: 404, statusText: "Not Found" })
        : new Response(null, { status: 302, headers: { location: "/login?token=t0ken" } }),
    async ({ origin }) => {
      const log = memoryLogger();
      const secret = origin.replace("http://", "http://ann:s3cret@");
      const fail = async (path: string) => {
        const attributes = { url: secret + path, headers: { auth: "s3cret" }, max_age: "1h" };
        return await read(await build(attributes, {}, log)).then(
          () => assert.fail("it read something"),
          (error: Error) => error.message,
        );
      };
      assert.equal(await fail("/gone?k=s3cret"), `GET ${origin}/gone: answered 404 Not Found`);
      assert.equal(
        await fail("/moved"),
        `GET ${origin}/moved: answered 302 Found and points to /login; configure that address instead`,
      );
      assert(!log.text().includes("s3cret"));
    },
  ));

Deno.test("httpSensorModel() names the address and why when nobody listens there", async () => {
  const port = freePort();
  const sensor = await build({ url: `http://ann:s3cret@127.0.0.1:${port}/?k=s3cret` });
  await assert.rejects(read(sensor), (error: Error) => {
    assert.match(error.message, new RegExp(`^GET http://127.0.0.1:${port}/: .*refused`));
    assert(!error.message.includes("s3cret"), error.message);
    return true;
  });
});

Deno.test("httpSensorModel() hides the query of the address in the runtime's errors", async () => {
  const url = "http://h/p?k=s3cret";
  const causes = {
    [`error sending request for url (${url}): client error (Connect): tcp connect error: refused`]:
      "GET http://h/p: it cannot be reached (refused); check address, network and that it is on",
    [`error sending request for url (${url}): client error (Connect): UnknownIssuer`]:
      "GET http://h/p: client error (Connect): UnknownIssuer",
    [`no route to ${url}`]: "GET http://h/p: no route to http://h/p",
  };
  for (const [words, expected] of Object.entries(causes)) {
    const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: new Error(words) }));
    await assert.rejects(read(await build({ url }, { fetch })), (error: Error) => {
      assert.equal(error.message, expected);
      return true;
    });
  }
});

Deno.test("httpSensorModel() refuses answers that are too long or no JSON object", async () => {
  let body: BodyInit = "";
  await withSite(() => new Response(body), async ({ origin }) => {
    const sensor = await build({ url: origin, interval: "0s" });
    body = "<html>";
    await assert.rejects(read(sensor), /is no JSON: it is "<html>"/);
    body = "[1]";
    await assert.rejects(read(sensor), /is no JSON object/);
    let sent = 0;
    body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(65_536));
        sent += 65_536;
      },
    });
    await assert.rejects(read(sensor), /the answer has more than 1048576 bytes/);
    assert(sent < 20 * 1024 * 1024, "the rest was not fetched");
  });
});

Deno.test("httpSensorModel() times out when the answer takes too long", async () => {
  const over = Promise.withResolvers<Response>();
  await withSite(() => over.promise, async ({ origin }) => {
    const sensor = await build({ url: origin, timeout: "100ms" });
    await assert.rejects(read(sensor), new RegExp(`GET ${origin}/: took longer than 100ms`));
    const caller = new AbortController();
    const other = await build({ url: origin });
    const reading = read(other, caller.signal);
    caller.abort(new Error("left"));
    await assert.rejects(reading, /left/);
    over.resolve(isJson({}));
  });
});

Deno.test("httpSensorModel() asks at most once an interval", async () => {
  let count = 0;
  await withSite(() => isJson({ count: ++count }), async ({ origin, requests }) => {
    const clock = new FakeClock();
    const sensor = await build({ url: origin }, { clock });
    await Promise.all([read(sensor), read(sensor)]);
    await clock.advance(999);
    assert.deepEqual(await read(sensor), { count: 1 });
    await clock.advance(1);
    assert.deepEqual(await read(sensor), { count: 2 });
    assert.equal(requests.length, 2);
    assert.equal(clock.pendingTimers, 0);
  });
});

Deno.test("httpSensorModel() lets the last good readings stand in up to max_age", async () => {
  let works = true;
  await withSite(
    () => works ? isJson({ a: 1 }) : new Response(null, { status: 503 }),
    async (site) => {
      const clock = new FakeClock();
      const sensor = await build({ url: site.origin, max_age: "10s" }, { clock });
      assert.deepEqual(await read(sensor), { a: 1, reading_age_seconds: 0 });
      works = false;
      await clock.advance(2_500);
      assert.deepEqual(await read(sensor), { a: 1, reading_age_seconds: 2.5 });
      await clock.advance(7_501);
      await assert.rejects(read(sensor), /answered 503/);
    },
  );
});

Deno.test("httpSensorModel() breaks off the request when it is closed", async () => {
  const over = Promise.withResolvers<Response>();
  await withSite(() => over.promise, async ({ origin, requests }) => {
    const sensor = await build({ url: origin });
    const reading = read(sensor);
    reading.catch(() => {});
    await waitFor(() => requests.length === 1, { deadlineMs: 60_000 });
    await sensor.close?.();
    await assert.rejects(reading, /closed/);
    over.resolve(isJson({}));
  });
});

Deno.test("httpSensorModel() refuses addresses and headers without showing secrets", async () => {
  const refused = async (attributes: JsonObject, message: string) =>
    await assert.rejects(build(attributes), (error) => {
      assert(error instanceof AttributeError);
      assert.equal(error.message, message);
      return true;
    });
  await refused(
    { url: "ftp://ann:s3cret@host/x?k=s3cret" },
    'attributes.url: found "ftp://***@host/x", allowed: an address that begins with http:// or https://',
  );
  await refused(
    {},
    "attributes.url: found nothing, allowed: an address that begins with http:// or https://",
  );
  await refused(
    { url: "http://h", headers: { key: "s3cret\n" + "x" } },
    "attributes.headers.key: found something else, allowed: a name and a text that fit a header",
  );
});

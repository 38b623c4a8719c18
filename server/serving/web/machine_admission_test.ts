import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingHttpHeaders, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { GetReadingsRequestSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { GET_READINGS, rejection } from "../../../shared/rpc/testing.ts";
import { MachineAdmission } from "./machine_admission.ts";
import { WebServer } from "./web_server.ts";

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A browser's request; unlike fetch() it says the Host that a rebound name would have. */
async function ask(port: number, { method = "POST", path, headers, body }: Asked) {
  const request = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false });
  request.end(body);
  const [response] = await once(request, "response");
  const answered: Answered = {
    status: response.statusCode,
    headers: response.headers,
    body: await text(response),
  };
  return answered;
}

async function withMachine(
  run: (
    port: number,
    machine: {
      admission: MachineAdmission;
      log: ReturnType<typeof memoryLogger>;
      calls: string[];
      setSignIn(required: boolean): void;
    },
  ) => Promise<void>,
): Promise<void> {
  const log = memoryLogger();
  const calls: string[] = [];
  let signIn = false;
  const admission: MachineAdmission = new MachineAdmission({
    signInRequired: () => signIn,
    port: () => web.address?.port,
    log,
  });
  const web: WebServer = new WebServer({
    mount: (router) => {
      router.service(SensorService, { getReadings: () => ({ readings: {} }) })
        .service(SignalingService, { optionalWebRTCConfig: () => ({}) });
    },
    interceptors: [admission.interceptor, { before: ({ path }) => void calls.push(path) }],
    http: ({ method, url }) => {
      calls.push(new URL(url).pathname);
      return new Response(`page ${method}`);
    },
    log,
    refuse: (...asked) => admission.refusal(...asked),
  });
  await web.listen({ hostname: "127.0.0.1", port: 0, tls: undefined, localFqdn: "" });
  const setSignIn = (required: boolean) => signIn = required;
  try {
    await run(web.address!.port, { admission, log, calls, setSignIn });
  } finally {
    await web.close(0);
  }
}

const OPTIONAL_CONFIG = "proto.rpc.webrtc.v1.SignalingService/OptionalWebRTCConfig";

/** One gRPC-web message. */
function framed(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}

/** Every way by which a page can make a browser send something to a machine. */
function probes(headers: Record<string, string>): Record<string, Asked> {
  const reading = framed(
    toBinary(GetReadingsRequestSchema, create(GetReadingsRequestSchema, { name: "a" })),
  );
  const inUrl = new URLSearchParams({ connect: "v1", encoding: "json", message: '{"name":"a"}' });
  const json = { ...headers, "content-type": "application/json" };
  return {
    "Connect": { path: `/${GET_READINGS}`, headers: json, body: '{"name":"a"}' },
    "Connect, a simple request": {
      path: `/${GET_READINGS}`,
      headers: { ...headers, "content-type": "text/plain" },
      body: '{"name":"a"}',
    },
    "Connect by GET": { method: "GET", path: `/${GET_READINGS}?${inUrl}`, headers },
    "gRPC-web": {
      path: `/${GET_READINGS}`,
      headers: { ...headers, "content-type": "application/grpc-web+proto" },
      body: reading,
    },
    "gRPC-web as text": {
      path: `/${GET_READINGS}`,
      headers: { ...headers, "content-type": "application/grpc-web-text" },
      body: btoa(String.fromCharCode(...reading)),
    },
    "preflight": {
      method: "OPTIONS",
      path: `/${GET_READINGS}`,
      headers: {
        ...headers,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
    },
    "signalling": { path: `/${OPTIONAL_CONFIG}`, headers: json, body: "{}" },
    "signalling by gRPC-web": {
      path: `/${OPTIONAL_CONFIG}`,
      headers: { ...headers, "content-type": "application/grpc-web+proto" },
      body: framed(new Uint8Array()),
    },
    "unknown call": {
      path: "/a.B/C",
      headers: { ...headers, "content-type": "application/grpc-web+proto" },
    },
    "page": { method: "GET", path: "/restart_status", headers },
  };
}

Deno.test("a machine without sign-in answers no page of another origin, on no way", async () => {
  await withMachine(async (port, { calls, log }) => {
    const host = `localhost:${port}`;
    const strangers = { "host": host, "origin": "https://evil.example" };
    for (const [way, asked] of Object.entries(probes(strangers))) {
      const { status, headers, body } = await ask(port, asked);
      assert.equal(status, 403, way);
      assert.equal(headers["access-control-allow-origin"], undefined, way);
      assert.match(body, /evil\.example.*network\.allowed_origins/, way);
    }
    for (const origin of ["null", "http://localhost:1", `https://${host}.evil.example`]) {
      const preflight = probes({ host, origin })["preflight"]!;
      assert.equal((await ask(port, preflight)).status, 403, origin);
    }
    const image = { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
    assert.equal((await ask(port, probes(image)["Connect by GET"]!)).status, 403);
    assert.deepEqual(calls, []);
    const told = log.messages("warn").filter((line) => line.includes('"https://evil.example"'));
    assert.equal(told.length, 1, "each reason is written once");
  });
});

Deno.test("a machine without sign-in is not reached through a rebound name", async () => {
  await withMachine(async (port, { calls }) => {
    // To the browser page and machine are of one origin: same host, same port, no CORS.
    const host = `evil.example:${port}`;
    for (const extra of [{ origin: `http://${host}` }, { "sec-fetch-site": "same-origin" }, {}]) {
      for (const [way, asked] of Object.entries(probes({ host, ...extra }))) {
        const { status, body } = await ask(port, asked);
        assert.equal(status, 403, way);
        assert.match(body, /network\.allowed_hosts/, way);
      }
    }
    assert.deepEqual(calls, []);
  });
});

Deno.test("a machine without sign-in answers its own and the configured pages", async () => {
  await withMachine(async (port, { admission, calls }) => {
    const own = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
    const panel = { host: "robot.lan", origin: "https://panel.example" };
    admission.follow({
      network: { allowed_hosts: ["robot.lan"], allowed_origins: ["https://panel.example"] },
    });
    for (const headers of [own, panel, { host: "127.0.0.1" }]) {
      for (const [way, asked] of Object.entries(probes(headers))) {
        if (["Connect by GET", "Connect, a simple request", "gRPC-web as text"].includes(way)) {
          continue; // Not served to anybody.
        }
        const answered = await ask(port, asked);
        assert.ok(answered.status < 300, `${way}: ${answered.status} ${answered.body}`);
        if (way === "page" || !("origin" in headers)) continue;
        assert.equal(answered.headers["access-control-allow-origin"], headers.origin, way);
      }
    }
    assert.ok(calls.includes(`/${GET_READINGS}`));
    admission.follow({});
    assert.equal((await ask(port, probes(panel)["Connect"]!)).status, 403);
  });
});

Deno.test("a machine with sign-in leaves calls to the token, and pages to its names", async () => {
  await withMachine(async (port, { setSignIn }) => {
    setSignIn(true);
    const headers = { host: "proxy.example", origin: "https://anything.example" };
    const { Connect, preflight, page } = probes(headers);
    assert.equal((await ask(port, Connect!)).status, 200);
    assert.equal((await ask(port, preflight!)).status, 204);
    assert.equal((await ask(port, page!)).status, 403);
    assert.equal((await ask(port, { ...page!, path: "/" })).status, 200);
    assert.equal((await ask(port, { ...page!, headers: { host: "localhost" } })).status, 200);
  });
});

Deno.test("gRPC callers need no origin; one that a proxy passes on is checked", async () => {
  await withMachine(async (port, { admission }) => {
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
    const sensor = createClient(SensorService, transport);
    const from = (origin: string) => ({ headers: { origin } });
    try {
      await sensor.getReadings({ name: "a" });
      const refused = await rejection(
        sensor.getReadings({ name: "a" }, from("https://panel.example")),
      );
      assert.match(refused.message, /permission_denied.*network\.allowed_origins/);
      admission.follow({ network: { allowed_origins: ["https://panel.example"] } });
      await sensor.getReadings({ name: "a" }, from("https://panel.example"));
    } finally {
      transport.close();
    }
  });
});

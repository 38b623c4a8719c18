import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { PortInUseError } from "../../../shared/rpc/server/errors.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import {
  bindsToAll,
  leavesCertificate,
  type ListenSettings,
  listenSettings,
  parseAddress,
  readyFields,
} from "./listen_settings.ts";
import { createRoutes } from "./routes.ts";
import { WebServer } from "./web_server.ts";

const settingsOf = (
  changes: Partial<MachineConfig>,
  more: { localAddress?: string; noTls?: boolean; issued?: { cert: string; key: string } } = {},
) =>
  listenSettings({
    config: { ...emptyMachineConfig(), ...changes },
    localAddress: more.localAddress,
    noTls: more.noTls ?? false,
    issued: more.issued,
  });

Deno.test("parseAddress() splits every form of a bind address", () => {
  const table: [string, string, number][] = [
    ["localhost:8080", "127.0.0.1", 8080],
    [":8080", "", 8080],
    ["0.0.0.0:1", "0.0.0.0", 1],
    ["[::1]:443", "::1", 443],
    ["machine.lan:9090", "machine.lan", 9090],
  ];
  for (const [address, hostname, port] of table) {
    assert.deepEqual(parseAddress(address), { hostname, port }, address);
  }
  for (const wrong of ["8080", "localhost:", "localhost:http", "a:70000"]) {
    assert.throws(() => parseAddress(wrong), /allowed: host:port/, wrong);
  }
});

Deno.test("listenSettings() lets the local address win over the cloud's", async () => {
  assert.equal((await settingsOf({})).port, 8080);
  const network = { bind_address: "127.0.0.1:1000" };
  assert.equal((await settingsOf({ network })).port, 1000);
  assert.equal((await settingsOf({ network }, { localAddress: ":2000" })).port, 2000);
});

Deno.test("listenSettings() listens on all addresses when the cloud gave a certificate", async () => {
  const cloud = { tls_certificate: "CERT", tls_private_key: "KEY", local_fqdn: "m.local" };
  const settings = await settingsOf({ cloud });
  assert.deepEqual(settings, {
    hostname: "",
    port: 8080,
    tls: { cert: "CERT", key: "KEY" },
    localFqdn: "m.local",
  });
  const plain = await settingsOf({ cloud }, { noTls: true });
  assert.equal(plain.tls, undefined);
  assert.equal(leavesCertificate({ cloud }, plain), true);
  assert.equal(leavesCertificate({ cloud }, settings), false);
  assert.equal(leavesCertificate({}, plain), false);
  assert.equal((await settingsOf({ cloud, network: { no_tls: true } })).hostname, "127.0.0.1");
});

Deno.test("listenSettings() uses an issued certificate unless the port is on loopback", async () => {
  const issued = { cert: "CERT", key: "KEY" };
  const tlsOf = async (bind_address?: string, noTls = false) =>
    (await settingsOf({ network: bind_address === undefined ? {} : { bind_address } }, {
      issued,
      noTls,
    })).tls;
  assert.deepEqual(await tlsOf(), issued);
  assert.deepEqual(await tlsOf(":8080"), issued);
  assert.deepEqual(await tlsOf("192.168.1.2:8080"), issued);
  assert.equal(await tlsOf("localhost:8080"), undefined);
  assert.equal(await tlsOf("[::1]:8080"), undefined);
  assert.equal(await tlsOf(":8080", true), undefined);
});

Deno.test("listenSettings() names the certificate file when it cannot be read", async () => {
  const network = { tls_cert_file: "/nowhere/c.pem", tls_key_file: "/nowhere/k.pem" };
  await assert.rejects(() => settingsOf({ network }), /certificate file \/nowhere\/c\.pem/);
});

Deno.test("readyFields() has the forms that wrappers look for", () => {
  const plain: ListenSettings = { hostname: "", port: 8080, tls: undefined, localFqdn: "m.local" };
  const tls: ListenSettings = { ...plain, tls: { cert: "", key: "" } };
  const all = { hostname: "::", port: 8080 };
  const both = (url: string) => ({ url, alt_url: url });
  assert.deepEqual(readyFields(plain, all), both("http://0.0.0.0:8080"));
  const local = { hostname: "127.0.0.1", port: 81 };
  assert.deepEqual(readyFields(plain, local), both("http://127.0.0.1:81"));
  assert.deepEqual(readyFields(plain, { hostname: "::1", port: 81 }), both("http://[::1]:81"));
  assert.deepEqual(readyFields(tls, all), {
    url: "https://m.local:8080",
    alt_url: "https://0.0.0.0:8080",
  });
  assert.deepEqual(readyFields({ ...tls, localFqdn: "" }, all), both("https://0.0.0.0:8080"));
  assert.equal(bindsToAll(all), true);
  assert.equal(bindsToAll({ hostname: "127.0.0.1" }), false);
});

const peer = (local: boolean): Peer => ({ address: "", port: 1, transport: "tcp", local });

Deno.test("createRoutes() tells only callers on this host whether a restart is allowed", async () => {
  const no = { allowed: false, reason: "the line runs" };
  const routes = createRoutes({ restartAllowed: () => Promise.resolve(no) });
  const ask = (path: string, local = true, method = "GET", headers = {}) =>
    routes(new Request(`http://m${path}`, { method, headers }), peer(local));
  const here = await ask("/restart_status");
  assert.deepEqual(await here.json(), {
    restart_allowed: false,
    reason: "the line runs",
    does_not_handle_needs_restart: true,
  });
  const elsewhere = await ask("/restart_status", false);
  assert.deepEqual([elsewhere.status, await elsewhere.text()], [403, "forbidden\n"]);
  for (const name of ["x-forwarded-for", "Forwarded", "via"]) {
    const passedOn = await ask("/restart_status", true, "GET", { [name]: "for=203.0.113.7" });
    assert.equal(passedOn.status, 403, `a proxy on this host, by ${name}`);
  }
  const root = await ask("/", false);
  assert.equal(root.status, 200);
  assert.match(await root.text(), /machine-server/);
  assert.equal((await ask("/other")).status, 404);
  assert.equal((await ask("/", true, "POST")).status, 405);
});

Deno.test("createRoutes() tells whether the cloud is reached, on a machine that has one", async () => {
  let reached: boolean | undefined;
  const routes = createRoutes({
    restartAllowed: () => Promise.resolve({ allowed: true, reason: "" }),
    cloudReached: () => reached,
  });
  const told = async () => {
    const response = await routes(new Request("http://m/restart_status"), peer(true));
    return (await response.json())["cloud_reached"];
  };
  assert.equal(await told(), undefined);
  reached = false;
  assert.equal(await told(), false);
  reached = true;
  assert.equal(await told(), true);
});

function webServer() {
  const log = memoryLogger();
  const web = new WebServer({
    mount: () => {},
    interceptors: [],
    http: () => new Response("here"),
    log,
  });
  return { web, log };
}

const local = (port: number): ListenSettings => ({
  hostname: "127.0.0.1",
  port,
  tls: undefined,
  localFqdn: "",
});

async function answers(port: number): Promise<boolean> {
  try {
    return await (await fetch(`http://127.0.0.1:${port}/`)).text() === "here";
  } catch {
    return false;
  }
}

Deno.test("WebServer moves when the settings change, and stays when they do not", async () => {
  const { web, log } = webServer();
  assert.equal(await web.listen(local(0)), true);
  assert.equal(await web.listen(local(0)), false);
  const first = web.address!.port;
  assert.ok(await answers(first));
  web.announce();
  const url = `http://127.0.0.1:${first}`;
  assert.deepEqual(log.entries.at(-1)?.fields, { url, alt_url: url });

  assert.equal(await web.listen({ ...local(0), localFqdn: "x" }), false);
  assert.equal(await web.listen(local(first)), true);
  assert.equal(web.address!.port, first);
  assert.ok(await answers(first));
  await web.close(100);
  assert.equal(await answers(first), false);
});

Deno.test("WebServer stays where it is when the new address is taken", async () => {
  const { web } = webServer();
  const { web: other } = webServer();
  await other.listen(local(0));
  await web.listen(local(0));
  const taken = other.address!.port;
  await assert.rejects(() => web.listen(local(taken)), (error) => {
    assert.ok(error instanceof PortInUseError);
    assert.ok(error.message.includes(String(taken)));
    return true;
  });
  assert.ok(await answers(web.address!.port));
  await Promise.all([web.close(100), other.close(100)]);
});

Deno.test("WebServer serves TLS with certificate files", async () => {
  const file = (name: string) =>
    fileURLToPath(new URL(`../../../shared/rpc/testdata/${name}`, import.meta.url));
  const network = {
    bind_address: "127.0.0.1:0",
    tls_cert_file: file("cert.pem"),
    tls_key_file: file("key.pem"),
  };
  const { web } = webServer();
  await web.listen(await settingsOf({ network }));
  const ca = await Deno.readTextFile(file("ca.pem"));
  using client = Deno.createHttpClient({ caCerts: [ca] });
  const response = await fetch(`https://localhost:${web.address!.port}/`, { client });
  assert.equal(await response.text(), "here");
  await web.close(100);
});

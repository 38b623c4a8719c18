import assert from "node:assert/strict";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { connectSystemBus } from "./dbus_connection.ts";
import {
  DBusCallError,
  DBusClosed,
  DBusTimeout,
  getProperties,
  getProperty,
  type Signal,
  type SystemBus,
  variant,
} from "./system_bus.ts";
import { PrivateBus } from "./testing.ts";

const ignore = ignoreWithout(import.meta.url, "dbus");
const PATH = "/org/example/thing";
const IFACE = "org.example.Thing";

async function withBus(
  run: (server: SystemBus, client: SystemBus, bus: PrivateBus) => Promise<void>,
): Promise<void> {
  await using bus = await PrivateBus.start();
  const connect = () => connectSystemBus({ clock: systemClock, address: bus.address });
  const server = await connect();
  const client = await connect();
  try {
    await run(server, client, bus);
  } finally {
    client.close();
    server.close();
  }
}

Deno.test({
  name: "call() carries variants, bytes and nested dictionaries both ways",
  ignore,
  fn: () =>
    withBus(async (server, client) => {
      const got: unknown[] = [];
      server.export(PATH, {
        call: ({ member, body }) => {
          if (member !== "Echo") return undefined;
          got.push(...body);
          return { signature: "a{sa{sv}}ay", body };
        },
      });
      const settings = {
        connection: { id: variant("s", "café"), autoconnect: variant("b", true) },
        ipv4: { dns: variant("au", [1, 2]), addresses: variant("aa{sv}", []) },
      };
      const answer = await client.call({
        destination: server.uniqueName,
        path: PATH,
        interface: IFACE,
        member: "Echo",
        signature: "a{sa{sv}}ay",
        body: [settings, Buffer.from("wifi\0x")],
      });
      assert.deepEqual(JSON.parse(JSON.stringify(answer[0])), settings);
      assert.equal(String(answer[1]), "wifi\0x");
      assert.equal(got.length, 2);
    }),
});

Deno.test({
  name: "call() throws what the other program answered, by name",
  ignore,
  fn: () =>
    withBus(async (server, client) => {
      server.export(PATH, {
        call: ({ member }) => {
          if (member !== "Fail") return undefined;
          throw new DBusCallError("org.example.Busy", "try later");
        },
      });
      const call = (destination: string, member: string) =>
        client.call({ destination, path: PATH, interface: IFACE, member });
      await assert.rejects(
        call(server.uniqueName, "Fail"),
        (error) =>
          error instanceof DBusCallError && error.errorName === "org.example.Busy" &&
          error.message === "try later",
      );
      await assert.rejects(
        call(server.uniqueName, "Missing"),
        (error) =>
          error instanceof DBusCallError &&
          error.errorName === "org.freedesktop.DBus.Error.UnknownMethod",
      );
      await assert.rejects(
        call("org.example.Nobody", "Fail"),
        (error) =>
          error instanceof DBusCallError &&
          error.errorName === "org.freedesktop.DBus.Error.ServiceUnknown",
      );
    }),
});

Deno.test({
  name: "call() fails at its deadline, and at the end of the connection",
  ignore,
  fn: () =>
    withBus(async (server, client, bus) => {
      const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
      server.export(PATH, {
        call: () => {
          onAsked();
          return new Promise(() => {});
        },
      });
      const call = (timeoutMs?: number) =>
        client.call({
          destination: server.uniqueName,
          path: PATH,
          interface: IFACE,
          member: "Hang",
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
        });
      await assert.rejects(call(50), DBusTimeout);
      await asked;
      const cut = assert.rejects(call(), DBusClosed);
      await bus.stop();
      await cut;
      await client.closed;
      await assert.rejects(call(), DBusClosed);
    }),
});

Deno.test({
  name: "subscribe() passes matching signals on until it is taken back",
  ignore,
  fn: () =>
    withBus(async (server, client) => {
      const seen: Signal[] = [];
      const unsubscribe = await client.subscribe(
        { pathNamespace: "/org/example", interface: IFACE, member: "Changed" },
        (signal) => seen.push(signal),
      );
      const emit = (path: string, member: string, word: string) =>
        server.emit({ path, interface: IFACE, member, signature: "s", body: [word] });
      emit("/org/other", "Changed", "elsewhere");
      emit(PATH, "Other", "other member");
      emit(PATH, "Changed", "one");
      await waitFor(() => seen.length > 0, { deadlineMs: 60_000 });
      assert.deepEqual(seen.map(({ path, body }) => [path, ...body]), [[PATH, "one"]]);
      await unsubscribe();
      const all: Signal[] = [];
      await client.subscribe({ interface: IFACE }, (signal) => all.push(signal));
      emit(PATH, "Changed", "two");
      await waitFor(() => all.length > 0, { deadlineMs: 60_000 });
      assert.equal(seen.length, 1);
    }),
});

Deno.test({
  name: "getProperty() and getProperties() read without variants",
  ignore,
  fn: () =>
    withBus(async (server, client) => {
      server.export(PATH, {
        call: ({ member, body }) => {
          if (member === "Get") return { signature: "v", body: [variant("s", `${body[1]}!`)] };
          if (member !== "GetAll") return undefined;
          return { signature: "a{sv}", body: [{ State: variant("u", 70) }] };
        },
      });
      assert.equal(await getProperty(client, server.uniqueName, PATH, IFACE, "Name"), "Name!");
      assert.deepEqual(await getProperties(client, server.uniqueName, PATH, IFACE), { State: 70 });
    }),
});

Deno.test("connectSystemBus() says where there is no bus", async () => {
  const address = "unix:path=/nonexistent/bus";
  await assert.rejects(
    connectSystemBus({ clock: systemClock, address }),
    (error) => error instanceof DBusClosed && error.message.includes("/nonexistent/bus"),
  );
});

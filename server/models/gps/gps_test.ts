import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ptyPair } from "../serial/testing.ts";
import { construct, testEnvironment } from "../testing.ts";
import { gpsModel } from "./gps_model.ts";
import type { GpsSensor } from "./gps_sensor.ts";
import { checksum, readSentence, Sentences } from "./nmea.ts";

const DEADLINE = { deadlineMs: 60_000 };
const encode = (text: string) => new TextEncoder().encode(text);
const sentence = (body: string) => `$${body}*${checksum(body)}\r\n`;
const GGA = "GPGGA,123519,4807.038,N,01131.000,E,4,08,0.9,545.4,M,46.9,M,,";
const RMC = "GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W";

const make = (attributes: JsonObject, clock: Clock = systemClock) =>
  construct<GpsSensor, unknown>(gpsModel(testEnvironment({ clock })), attributes);

Deno.test("Sentences.take() puts sentences together and counts what is none", () => {
  const sentences = new Sentences();
  // The example of the standard, with its checksum.
  const whole = "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n";
  assert.deepEqual(sentences.take(encode(whole.slice(0, 20))), []);
  assert.equal(sentences.take(encode(whole.slice(20))).length, 1);
  assert.deepEqual(sentences.take(encode(whole.replace("*47", "*48"))), []);
  assert.deepEqual(sentences.take(new Uint8Array(10_000).fill(0xfe)), []);
  assert.deepEqual(sentences.take(encode("\r\nhello\r\n")), []);
  assert.equal(sentences.bad, 3);
});

Deno.test("readSentence() reads places, speeds and accuracies", () => {
  const { latitude, longitude, altitude, quality } = readSentence(GGA)!;
  assert.ok(Math.abs(latitude! - 48.1173) < 1e-4 && Math.abs(longitude! - 11.516667) < 1e-4);
  assert.deepEqual([altitude, quality], [545.4, 4]);
  assert.ok(Math.abs(readSentence(RMC)!.speed! - 11.5236) < 1e-3);
  assert.equal(readSentence("GPGGA,1,,,,,0,00,,,M,,M,,")!.latitude, undefined);
  assert.equal(
    readSentence("GPGGA,1,9907.038,N,01131.000,E,1,08,0.9,1,M,,M,,")!.latitude,
    undefined,
  );
  assert.equal(readSentence("GPXYZ,1"), undefined);
});

Deno.test({
  name: "gps-nmea reads a serial port and names one that babbles",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { path, device } = ptyPair();
    const gps = await make({ connection_type: "serial", serial_attributes: { serial_path: path } });
    await device.write(encode(sentence(GGA) + sentence(RMC)));
    await waitFor(() => gps.getPosition().coordinate.latitude > 48, DEADLINE);
    assert.equal(gps.getCompassHeading().value, 84.4);
    assert.equal(gps.getAccuracy().positionNmeaGgaFix, 4);
    await device.write(new Uint8Array(20_000).fill(0xaa));
    await waitFor(() => Number((gps.getStatus() as JsonObject)["bad_sentences"]) > 0, DEADLINE);
    await device.write(encode("\r\n" + sentence(GGA.replace("4807", "4907"))));
    await waitFor(() => gps.getPosition().coordinate.latitude > 49, DEADLINE);
    await gps.close();
    await device.close();
  },
});

Deno.test("gps-nmea takes sentences of TCP, and hands corrections of a caster to the receiver", async () => {
  const receiver = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const caster = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = (listener: Deno.Listener) => (listener.addr as Deno.NetAddr).port;
  const gps = await make({
    connection_type: "tcp",
    address: `127.0.0.1:${port(receiver)}`,
    ntrip_url: `http://127.0.0.1:${port(caster)}`,
    ntrip_mountpoint: "NEAR",
    ntrip_username: "me",
    ntrip_password: "secret",
  });
  const [there, casting] = await Promise.all([receiver.accept(), caster.accept()]);
  await there.write(encode(sentence(GGA)));
  const buffer = new Uint8Array(1_000);
  const readText = async (from: Deno.Conn) =>
    new TextDecoder().decode(buffer.subarray(0, await from.read(buffer) ?? 0));
  const request = await readText(casting);
  assert.match(request, /^GET \/NEAR HTTP\/1.0\r\n/);
  assert.match(request, new RegExp(`Authorization: Basic ${btoa("me:secret")}\r\n`));
  await casting.write(encode("ICY 200 OK\r\n"));
  assert.equal(await readText(casting), sentence(GGA));
  await casting.write(new Uint8Array([0xd3, 0, 1, 2]));
  assert.equal(await there.read(buffer), 4);
  assert.deepEqual([...buffer.subarray(0, 4)], [0xd3, 0, 1, 2]);
  casting.close();
  const error = () => (gps.getStatus() as JsonObject)["ntrip_error"];
  await waitFor(error, DEADLINE);
  const again = await caster.accept();
  await readText(again);
  await again.write(encode("HTTP/1.1 401 Unauthorized\r\n\r\n"));
  // Why it was refused stands until a caster accepts.
  const third = await caster.accept();
  await readText(third);
  assert.match(String(error()), /check ntrip_username/);
  await third.write(encode("ICY 200 OK\r\n"));
  await waitFor(() => error() === undefined, DEADLINE);
  await there.write(encode(sentence(GGA)));
  await waitFor(() => gps.getPosition().coordinate.latitude > 48, DEADLINE);
  await gps.close();
  for (const each of [there, again, third, receiver, caster]) each.close();
});

Deno.test("gps-nmea has a problem while its receiver babbles or is silent", async () => {
  const clock = new FakeClock();
  const receiver = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = receiver.addr as Deno.NetAddr;
  const gps = await make({ connection_type: "tcp", address: `127.0.0.1:${port}` }, clock);
  assert.equal(gps.problem(), undefined);
  const there = await receiver.accept();
  await there.write(encode(sentence(GGA)));
  await waitFor(() => gps.getStatus().fix === 4, DEADLINE);
  assert.equal(gps.problem(), undefined);

  await clock.advance(6_000);
  assert.match(gps.problem() ?? "", /nothing comes; check the receiver's power and wires/);
  await there.write(new Uint8Array(20_000).fill(0xaa));
  await waitFor(() => gps.getStatus().bad_sentences > 0, DEADLINE);
  assert.match(gps.problem() ?? "", /what comes is no NMEA .* check serial_baud_rate/);

  await there.write(encode("\r\n" + sentence(GGA)));
  await waitFor(() => gps.problem() === undefined, DEADLINE);
  there.close();
  await waitFor(() => /the peer closed the connection/.test(gps.problem() ?? ""), DEADLINE);
  await gps.close();
  receiver.close();
});

Deno.test("gps-nmea says what is missing", async () => {
  const gps = await make({
    connection_type: "serial",
    serial_attributes: { serial_path: "/dev/ttyNONE" },
  });
  await waitFor(
    () => /no serial port/.test(String((gps.getStatus() as JsonObject)["error"])),
    DEADLINE,
  );
  assert.throws(() => gps.getPosition(), /there is no serial port \/dev\/ttyNONE; this host has/);
  await gps.close();
  const model = gpsModel(testEnvironment());
  assert.throws(
    () => model.dependencies!(model.attributes.parse({ connection_type: "tcp" }).attributes),
    /address: found nothing/,
  );
});

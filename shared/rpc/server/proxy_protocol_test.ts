import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { readProxyHeader } from "./proxy_protocol.ts";
import { readProtocol } from "./sniff.ts";

const V2 = Buffer.from("0d0a0d0a000d0a515549540a", "hex");

function v2(command: number, family: number, body: string): Buffer {
  const payload = Buffer.from(body, "hex");
  const head = Buffer.from([0x20 | command, family, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([V2, head, payload]);
}

Deno.test("readProxyHeader() reads version 1 and version 2 addresses", () => {
  const v1 = "PROXY TCP6 2001:db8::1 2001:db8::2 1234 443\r\n";
  assert.deepEqual(readProxyHeader(Buffer.from(`${v1}PRI`)), {
    kind: "proxied",
    length: v1.length,
    address: "2001:db8::1",
    port: 1234,
  });
  assert.deepEqual(readProxyHeader(v2(1, 0x11, "cb007107" + "0a000001" + "1267" + "01bb")), {
    kind: "proxied",
    length: 28,
    address: "203.0.113.7",
    port: 4711,
  });
  const six = readProxyHeader(
    v2(1, 0x21, "20010db8000000000000000000000001" + "0".repeat(32) + "04d2" + "01bb"),
  );
  assert.deepEqual(six, {
    kind: "proxied",
    length: 52,
    address: "2001:db8::1",
    port: 1234,
  });
});

Deno.test("readProxyHeader() takes IPv4 addresses in IPv6 as what they are", () => {
  const mapped = "00".repeat(10) + "ffff" + "cb007107";
  const headers = [
    v2(1, 0x21, mapped + "0".repeat(32) + "04d2" + "01bb"),
    ...["::ffff:203.0.113.7", "0:0:0:0:0:FFFF:CB00:7107"].map((address) =>
      Buffer.from(`PROXY TCP6 ${address} ::1 1234 443\r\n`)
    ),
  ];
  for (const bytes of headers) {
    const header = readProxyHeader(bytes);
    assert.ok(header.kind === "proxied");
    assert.deepEqual([header.address, header.port], ["203.0.113.7", 1234]);
  }
});

Deno.test("readProxyHeader() takes a proxy's own connections as local", () => {
  assert.deepEqual(readProxyHeader(v2(0, 0, "")), { kind: "local", length: 16 });
  assert.deepEqual(readProxyHeader(Buffer.from("PROXY UNKNOWN\r\n")), {
    kind: "local",
    length: 15,
  });
});

Deno.test("readProxyHeader() waits for the rest of a header, byte by byte", () => {
  for (
    const whole of [Buffer.from("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"), v2(1, 0x11, "00".repeat(12))]
  ) {
    for (let length = 0; length < whole.length; length++) {
      assert.equal(readProxyHeader(whole.subarray(0, length)).kind, "incomplete", `${length}`);
    }
    assert.equal(readProxyHeader(whole).kind, "proxied");
  }
});

Deno.test("readProxyHeader() refuses other text, overlong headers and unknown versions", () => {
  const bad = [
    "GET / HTTP/1.1\r\n",
    "PROXY TCP4 1.2.3.4 5.6.7.8 x 2\r\n",
    "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n",
    "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n",
    "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
    "PROXY TCP4 ::1 ::1 1 2\r\n",
    "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n",
    "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
    "PROXY TCP4 someone 5.6.7.8 1 2\r\n",
    "PROXY UNKNOWNS\r\n",
    `PROXY UNKNOWN ${"x".repeat(120)}\r\n`,
    `PROXY ${"x".repeat(120)}`,
  ];
  for (const text of bad) assert.equal(readProxyHeader(Buffer.from(text)).kind, "invalid", text);
  const version3 = v2(1, 0x11, "00".repeat(12));
  version3[12] = 0x31;
  assert.equal(readProxyHeader(version3).kind, "invalid");
  assert.equal(readProxyHeader(v2(1, 0x11, "00".repeat(11))).kind, "invalid", "too short");
  assert.equal(readProxyHeader(v2(1, 0x12, "00".repeat(12))).kind, "invalid", "datagrams");
  const long = v2(1, 0x11, "00".repeat(12));
  long.writeUInt16BE(4_081, 14);
  assert.equal(readProxyHeader(long).kind, "invalid", "before the rest is there");
});

Deno.test("readProxyHeader() takes any bytes, and no more of them than it may", () => {
  let seed = 20;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const starts = [V2, Buffer.from("PROXY "), Buffer.from("PROXY TCP4 1.2.3.4 "), v2(1, 0x11, "")];
  for (let round = 0; round < 20_000; round++) {
    const tail = Buffer.from(Array.from({ length: random() * 200 }, () => random() * 256));
    const bytes = Buffer.concat([starts[round % starts.length]!, tail]);
    const read = readProxyHeader(bytes);
    if (read.kind === "incomplete") assert.ok(bytes.length < 4_096);
    if (read.kind === "local" || read.kind === "proxied") assert.ok(read.length <= bytes.length);
    if (read.kind === "proxied") assert.ok(isIP(read.address) !== 0 && read.port < 65_536);
    // Byte by byte it comes to the same.
    let at = 1;
    while (at < bytes.length && readProxyHeader(bytes.subarray(0, at)).kind === "incomplete") at++;
    assert.equal(readProxyHeader(bytes.subarray(0, at)).kind, read.kind, bytes.toString("hex"));
  }
});

Deno.test("readProtocol() tells HTTP/2 from HTTP/1.1 with as few bytes as it takes", () => {
  const kinds = (text: string) => readProtocol(Buffer.from(text));
  for (const start of ["", "P", "PR"]) assert.equal(kinds(start).kind, "incomplete", start);
  const cases: [string, boolean][] = [["PRI * HTTP/2.0", true], ["POST /", false], ["PUT", false], [
    "G",
    false,
  ]];
  for (const [start, http2] of cases) {
    const first = kinds(start);
    assert.ok(first.kind === "known" && first.http2 === http2, start);
  }
});

import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign, verify } from "node:crypto";
import { tarGzOf } from "../../../shared/transfer/archive/testing.ts";
import { hex } from "../bytes/bytes.ts";
import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import type { ConnectionEvents } from "../host/host.ts";
import { LogQueue } from "../log/log_queue.ts";
import { FakeHost, turns } from "../testing.ts";
import { DOWNLOAD_MS, Ota, RETRY_MS, signedText, TRIAL_MS } from "./ota.ts";

const IMAGE: Uint8Array = Uint8Array.from({ length: 5000 }, (_, i) => i * 7 & 255);
const HASH = new Uint8Array(createHash("sha256").update(IMAGE).digest());
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const RAW_KEY = new Uint8Array(publicKey.export({ format: "der", type: "spki" }).subarray(-32));

function wanted(change: Record<string, string> = {}) {
  const signature = hex(new Uint8Array(sign(null, signedText("2.0", HASH), privateKey)));
  return { url: "http://files/f.bin", version: "2.0", sha256: hex(HASH), signature, ...change };
}

/** A device with two slots, and a server that gives the image. */
function device(
  { confirmed = true, image = IMAGE, whole = IMAGE, version = "1.0", token = "" } = {},
) {
  const host = new FakeHost();
  const did: string[] = [];
  let written = 0;
  let hash = createHash("sha256");
  host.firmware = {
    version,
    confirmed,
    begin(size) {
      did.push(`begin ${size}`);
      written = 0;
      hash = createHash("sha256");
    },
    write(bytes) {
      written += bytes.length;
      hash.update(bytes);
    },
    digest: () => new Uint8Array(hash.copy().digest()),
    finish: (activate) => void did.push(`${activate ? "activate" : "drop"} ${written}`),
    confirm: () => void did.push("confirm"),
    rollBack: () => void did.push("roll back"),
  };
  host.verifyEd25519 = (_key, message, signature) => verify(null, message, publicKey, signature);
  let requests = 0;
  const net = { isDown: false };
  host.connect = (_target: unknown, events: ConnectionEvents) => {
    host.setTimer(0, () => net.isDown ? events.onError("no network") : events.onOpen?.());
    return {
      write: (bytes) => {
        requests++;
        if (!fromUtf8(bytes).includes(token)) {
          host.setTimer(
            1,
            () => events.onData(utf8("HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n")),
          );
          return true;
        }
        const head = `HTTP/1.1 200 OK\r\ncontent-length: ${whole.length}\r\n\r\n`;
        host.setTimer(1, () => events.onData(utf8(head)));
        for (let at = 0; at < image.length; at += 999) {
          host.setTimer(2, () => events.onData(image.slice(at, at + 999)));
        }
        if (image.length < whole.length) host.setTimer(3, () => events.onEnd());
        return true;
      },
      end: () => {},
      destroy: () => {},
    };
  };
  const headersFor = (_origin: unknown, refused: boolean) =>
    Promise.resolve({ authorization: refused ? "Bearer new" : "Bearer old" });
  const ota = () => new Ota({ host, log: new LogQueue(host), publicKey: RAW_KEY, headersFor });
  return { host, did, ota, requests: () => requests, net };
}

Deno.test("apply() writes a signed image to the other slot, activates it and restarts", async () => {
  const { host, did, ota } = device();
  void ota().apply(wanted());
  await host.advance(100);
  assert.deepEqual(did, ["begin 5000", "activate 5000"]);
  assert.equal(host.restarts, 1);
});

Deno.test("apply() takes nothing that is signed otherwise, changed, cut off or from elsewhere", async () => {
  const cases: [Record<string, string>, Uint8Array, RegExp][] = [
    [{ version: "3.0" }, IMAGE, /signature is not of the key/],
    [{ signature: "" }, IMAGE, /signature is not of the key/],
    [{}, IMAGE.map((byte, i) => i === 4000 ? byte ^ 1 : byte), /another hash/],
    [{}, IMAGE.slice(0, 3000), /ended inside a message|closed the connection/],
    [{ sha256: "12" }, IMAGE, /64 hexadecimal digits/],
    [{ url: "ftp://files/f" }, IMAGE, /must be written as/],
  ];
  for (const [change, image, expected] of cases) {
    const { host, did, ota } = device({ image });
    void ota().apply(wanted(change));
    await host.advance(60_000);
    assert.match(host.lines.join("\n"), expected);
    assert.equal(host.restarts, 0);
    assert.ok(!did.some((one) => one.startsWith("activate")), did.join());
  }
});

Deno.test("apply() does nothing when the version runs, and tries none again that came back", async () => {
  const current = device({ version: "2.0" });
  void current.ota().apply(wanted());
  await current.host.advance(1000);
  assert.equal(current.requests(), 0);
  const back = device();
  void back.ota().apply(wanted());
  await back.host.advance(1000);
  void back.ota().apply(wanted());
  await back.host.advance(1000);
  assert.equal(back.requests(), 1);
  assert.match(back.host.lines.join("\n"), /2.0 was tried and rolled back/);
});

Deno.test("new firmware is confirmed when it reaches the cloud, or rolled back", async () => {
  const good = device({ confirmed: false });
  good.ota().reached();
  await good.host.advance(TRIAL_MS + 1);
  assert.deepEqual(good.did, ["confirm"]);
  const bad = device({ confirmed: false });
  bad.ota();
  await bad.host.advance(TRIAL_MS + 1);
  await turns();
  assert.deepEqual(bad.did, ["roll back"]);
  assert.equal(bad.host.restarts, 1);
});

Deno.test("apply() takes the image out of an archive", async () => {
  const archive = tarGzOf([{ path: "image", content: IMAGE }]);
  const url = "http://files/f-2.0.tar.gz";
  const good = device({ image: archive, whole: archive });
  void good.ota().apply(wanted({ url }));
  await good.host.advance(5_000);
  assert.deepEqual(good.did, ["begin 5000", "activate 5000"]);
  const cases: [Uint8Array, RegExp][] = [
    [archive.slice(0, 200), /ended inside a message|closed the connection/],
    [archive.map((byte, i) => i === 100 ? byte ^ 4 : byte), /damaged|another hash|cut off/],
    [tarGzOf([{ path: "image", content: "" }]), /of 0 bytes is not taken/],
    [tarGzOf([]), /no file in it/],
    [IMAGE, /archive is damaged/],
  ];
  for (const [image, expected] of cases) {
    const whole = image.length === 200 ? archive : image;
    const { host, did, ota } = device({ image, whole });
    void ota().apply(wanted({ url }));
    await host.advance(60_000);
    assert.match(host.lines.join("\n"), expected);
    assert.ok(!did.some((one) => one.startsWith("activate")), did.join());
  }
});

Deno.test("apply() signs in anew where its sign-in is refused", async () => {
  const { host, did, ota, requests } = device({ token: "Bearer new" });
  void ota().apply(wanted());
  await host.advance(5_000);
  assert.deepEqual(did, ["drop 0", "begin 5000", "activate 5000"]);
  assert.equal(requests(), 2);
});

Deno.test("apply() tries again later when the image's server is away, until it is not wanted", async () => {
  const { host, did, ota, net } = device();
  net.isDown = true;
  const updates = ota();
  void updates.apply(wanted());
  await host.advance(10_000);
  assert.match(host.lines.join("\n"), /no network; it is tried again in 5 minutes/);
  net.isDown = false;
  await host.advance(RETRY_MS);
  assert.equal(did.at(-1), "activate 5000");

  const other = device();
  other.net.isDown = true;
  const unwanted = other.ota();
  void unwanted.apply(wanted());
  await other.host.advance(10_000);
  other.net.isDown = false;
  void unwanted.apply(undefined);
  await other.host.advance(2 * RETRY_MS);
  assert.equal(other.requests(), 0);
});

Deno.test("apply() activates no image that is not wanted any more when it is there", async () => {
  const { host, did, ota } = device();
  const updates = ota();
  void updates.apply(wanted());
  await host.advance(1);
  void updates.apply(undefined);
  await host.advance(60_000);
  assert.equal(did[0], "begin 5000");
  assert.match(did.slice(1).join(), /^drop \d+$/);
  assert.equal(host.restarts, 0);
});

Deno.test("apply() takes no version that is older than the one that runs, where images are signed", async () => {
  for (
    const [version, taken] of [["1.9.0", false], ["1.10", true], ["1.10.1-rc1", true]] as const
  ) {
    const { host, did, ota } = device({ version: "1.10.0" });
    const signature = hex(new Uint8Array(sign(null, signedText(version, HASH), privateKey)));
    void ota().apply(wanted({ version, signature }));
    await host.advance(5_000);
    assert.equal(did.includes("activate 5000"), taken, `${version}: ${did.join()}`);
    if (!taken) assert.match(host.lines.join("\n"), /1\.9\.0 is older than 1\.10\.0/);
  }
});

Deno.test("apply() waits longer from one attempt to the next", async () => {
  const { host, ota, net } = device();
  net.isDown = true;
  void ota().apply(wanted());
  await host.advance(24 * 3600_000);
  const minutes = host.lines.flatMap((line) => line.match(/again in (\d+) minutes/)?.[1] ?? []);
  assert.deepEqual(minutes.slice(0, 9).map(Number), [5, 10, 20, 40, 80, 160, 320, 360, 360]);
});

/** A device whose server sends a byte each 20 s, and never all. */
function slowDevice() {
  const made = device();
  const { host } = made;
  let ended = 0;
  host.connect = (_target: unknown, events: ConnectionEvents) => {
    let isOpen = true;
    host.setTimer(0, () => events.onOpen?.());
    const drip = () => {
      if (!isOpen) return;
      events.onData(Uint8Array.of(1));
      host.setTimer(20_000, drip);
    };
    return {
      write: () => {
        host.setTimer(1, () => {
          if (isOpen) events.onData(utf8("HTTP/1.1 200 OK\r\ncontent-length: 500000\r\n\r\n"));
          drip();
        });
        return true;
      },
      end: () => {},
      destroy: () => {
        ended += isOpen ? 1 : 0;
        isOpen = false;
      },
    };
  };
  return { ...made, ended: () => ended };
}

Deno.test("apply() breaks off a server that sends a little now and then", async () => {
  const slow = slowDevice();
  void slow.ota().apply(wanted());
  await slow.host.advance(DOWNLOAD_MS - 60_000);
  assert.equal(slow.ended(), 0);
  await slow.host.advance(120_000);
  assert.equal(slow.ended(), 1);
  await slow.host.advance(5 * DOWNLOAD_MS);
  assert.match(slow.host.lines.join("\n"), /server is too slow; it is tried again/);
});

Deno.test("apply() leaves a slow download for another update at once", async () => {
  const slow = slowDevice();
  const updates = slow.ota();
  void updates.apply(wanted());
  await slow.host.advance(60_000);
  const signature = hex(new Uint8Array(sign(null, signedText("3.0", HASH), privateKey)));
  void updates.apply(wanted({ version: "3.0", signature }));
  await slow.host.advance(5_000);
  assert.equal(slow.ended(), 1);
  assert.match(slow.host.lines.join("\n"), /downloads 3\.0/);
});

Deno.test("apply() does not begin what is no longer wanted when it is signed in", async () => {
  const { host, did, requests } = device();
  const { promise, resolve } = Promise.withResolvers<Record<string, string>>();
  const options = { host, log: new LogQueue(host), publicKey: RAW_KEY };
  const updates = new Ota({ ...options, headersFor: () => promise });
  void updates.apply(wanted());
  await host.advance(1);
  void updates.apply(undefined);
  resolve({});
  await host.advance(60_000);
  assert.equal(requests(), 0);
  assert.deepEqual(did, ["drop 0"]);
});

Deno.test("apply() ends an archive after its image, and one that unpacks to more than any image", async () => {
  const archive = tarGzOf([{ path: "image", content: IMAGE }, { path: "more", content: IMAGE }]);
  const url = "http://files/f-2.0.tar.gz";
  // The server says that there is more, and never sends it.
  const endless = Uint8Array.from({ length: archive.length + 1_000_000 });
  const { host, did, ota } = device({ image: archive, whole: endless });
  void ota().apply(wanted({ url }));
  await host.advance(3);
  assert.deepEqual(did, ["begin 5000", "activate 5000"]);

  const zeros = new Uint8Array(18 * 1024 * 1024);
  const bomb = tarGzOf([
    { path: "folder", type: "Directory", content: zeros },
    { path: "image", content: IMAGE },
  ]);
  const other = device({ image: bomb, whole: bomb });
  void other.ota().apply(wanted({ url }));
  await other.host.advance(60_000);
  assert.match(other.host.lines.join("\n"), /the archive is too large/);
});

Deno.test("apply() continues when another configuration wants the same", async () => {
  const { host, did, ota, requests } = device();
  const updates = ota();
  void updates.apply(wanted());
  await host.advance(1);
  void updates.apply(wanted());
  await host.advance(60_000);
  assert.deepEqual(did, ["begin 5000", "activate 5000"]);
  assert.equal(requests(), 1);
});

import assert from "node:assert/strict";
import { addressBlock } from "../../rpc/server/address_block.ts";
import { AttemptBuckets } from "./attempt_buckets.ts";
import { AttemptLimiter } from "./attempt_limiter.ts";

const RIGHT = "right";

/** A limiter before something that takes a turn of the loop to verify. */
function guarded(limits?: ConstructorParameters<typeof AttemptLimiter>[1]) {
  const time = { now: 0 };
  const verified: string[] = [];
  const limiter = new AttemptLimiter(() => time.now, limits);
  const attempt = async (address: string, entity: string, payload: string) => {
    const credential = { type: "api-key", entity, payload };
    const { kind } = await limiter.attempt({ address, credential }, async () => {
      verified.push(payload);
      await new Promise((resolve) => setTimeout(resolve));
      return payload === RIGHT ? {} : undefined;
    });
    return kind;
  };
  return { limiter, time, verified, attempt };
}

const counted = (kinds: readonly string[]) =>
  Object.fromEntries([...Map.groupBy(kinds, (kind) => kind)].map(([kind, all]) => [
    kind,
    all.length,
  ]));

Deno.test("AttemptLimiter allows 20 failures in a row, then some each minute, per address and entity", async () => {
  const { time, attempt } = guarded();
  for (let i = 0; i < 20; i++) assert.equal(await attempt("a", "k", `${i}`), "wrong");
  assert.equal(await attempt("a", "k", RIGHT), "refused");
  assert.equal(await attempt("b", "k", RIGHT), "right", "another address is not held up");
  assert.equal(await attempt("a", "l", RIGHT), "right", "another entity is not held up");
  time.now += 6_000;
  assert.equal(await attempt("a", "k", "wrong"), "wrong", "one is back after six seconds");
  assert.equal(await attempt("a", "k", "wrong"), "refused");
});

Deno.test("AttemptLimiter verifies no more than 20 of 400 concurrent guesses", async () => {
  const { verified, attempt } = guarded();
  const kinds = await Promise.all(
    Array.from({ length: 400 }, (_, i) => attempt("a", "k", `guess ${i}`)),
  );
  assert.deepEqual(counted(kinds), { wrong: 20, refused: 380 });
  assert.equal(verified.length, 20);
});

Deno.test("AttemptLimiter lets right secrets pass beside wrong ones from the same address", async () => {
  const { time, attempt } = guarded();
  assert.equal(await attempt("a", "mine", RIGHT), "right");
  const right: string[] = [];
  for (let i = 0; i < 400; i++) {
    time.now += 50; // 20 wrong ones a second, of one entity, of mine, and of one after another
    for (const entity of ["theirs", "mine", `e${i}`]) await attempt("a", entity, `wrong ${i}`);
    if (i % 10 > 0) continue;
    right.push(await attempt("a", "mine", RIGHT), await attempt("a", `new ${i}`, RIGHT));
  }
  assert.deepEqual(counted(right), { right: 80 });
});

Deno.test("AttemptLimiter lets a fleet behind one address sign in at once", async () => {
  const { attempt } = guarded();
  const fleet = Array.from({ length: 900 }, (_, i) => attempt("a", `part ${i % 300}`, RIGHT));
  assert.deepEqual(counted(await Promise.all(fleet)), { right: 900 });
});

Deno.test("AttemptLimiter lets a fleet wait while other addresses flood it", async () => {
  for (const addresses of [1, 10]) {
    const { attempt } = guarded();
    const flood = Array.from(
      { length: 1_500 * addresses },
      (_, i) => attempt(`f${i % addresses}`, `f${i}`, "wrong"),
    );
    const fleet = Array.from({ length: 300 }, (_, i) => attempt("a", `k${i}`, RIGHT));
    assert.deepEqual(counted(await Promise.all(fleet)), { right: 300 });
    const [wrong, refused] = [200 * addresses, 1_300 * addresses];
    assert.deepEqual(counted(await Promise.all(flood)), { wrong, refused });
  }
});

Deno.test("AttemptLimiter bounds what is verified of one address, whatever entities it names", async () => {
  const { time, verified, attempt } = guarded();
  const wrong = async (from: number) =>
    counted(
      await Promise.all(
        Array.from({ length: 500 }, (_, i) => attempt("a", `e${from + i}`, "wrong")),
      ),
    );
  assert.deepEqual(await wrong(0), { wrong: 200, refused: 300 });
  time.now += 1_000;
  assert.deepEqual(await wrong(500), { wrong: 20, refused: 480 });
  assert.equal(verified.length, 220);
});

Deno.test("AttemptLimiter forgets a credential that is not right any more", async () => {
  const { limiter } = guarded({ entity: { burst: 2, perMinute: 0 } });
  const attempt = async (right: boolean) =>
    (await limiter.attempt({
      address: "a",
      credential: { type: "api-key", entity: "k", payload: "p" },
    }, () => Promise.resolve(right || undefined))).kind;
  const kinds: string[] = [];
  for (const right of [true, false, false, true]) kinds.push(await attempt(right));
  assert.deepEqual(kinds, ["right", "wrong", "wrong", "refused"]);
});

Deno.test("AttemptLimiter gives an attempt back whose verification failed", async () => {
  const { limiter, attempt } = guarded({ entity: { burst: 1, perMinute: 0 } });
  const credential = { type: "api-key", entity: "k", payload: "p" };
  await assert.rejects(
    () => limiter.attempt({ address: "a", credential }, () => Promise.reject(new Error("disk"))),
    /disk/,
  );
  assert.equal(await attempt("a", "k", RIGHT), "right");
});

Deno.test("AttemptLimiter counts the addresses of one IPv6 network as one", async () => {
  const { attempt } = guarded({ entity: { burst: 2, perMinute: 0 } });
  assert.equal(await attempt("2001:db8:1:2::1", "k", "x"), "wrong");
  assert.equal(await attempt("2001:db8:1:2:ffff::", "k", "x"), "wrong");
  assert.equal(await attempt("2001:DB8:1:2:a:b:c:d", "k", "x"), "refused");
  assert.equal(await attempt("2001:db8:1:3::1", "k", "x"), "wrong");
});

Deno.test("addressBlock() is the /64 of IPv6 addresses and the whole of others", () => {
  const blocks: [string, string][] = [
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::ffff:a00:1", "10.0.0.1"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"],
    ["64:ff9b::10.0.0.1", "64:ff9b:0:0::/64"],
    ["", ""],
    ["/run/socket", "/run/socket"],
  ];
  for (const [address, block] of blocks) assert.equal(addressBlock(address), block, address);
});

Deno.test("AttemptBuckets keep 10,000 buckets at most, and none that is full", () => {
  const buckets = new AttemptBuckets(() => 0, { burst: 1, perMinute: 0 });
  for (let i = 0; i < 50; i++) {
    buckets.reserve(`right ${i}`);
    buckets.settle(`right ${i}`, false);
  }
  assert.equal(buckets.size, 0);
  for (let i = 0; i < 20_000; i++) {
    buckets.reserve(`wrong ${i}`);
    buckets.settle(`wrong ${i}`, true);
  }
  assert.equal(buckets.size, 10_000);
  assert.equal(buckets.free("wrong 19999"), false);
});

import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { PasswordQueue, type QueueLimits } from "./password_queue.ts";

const HASH_MS = 150;

/** A queue whose passwords take a while; notes who was served or refused, in order. */
function rigged(limits: QueueLimits = {}) {
  const clock = new FakeClock();
  const queue = new PasswordQueue(clock, limits);
  const ended: string[] = [];
  const come = (block: string, isWrong: boolean, signal?: AbortSignal) => {
    const work = async () => {
      await clock.sleep(HASH_MS);
      return { value: undefined, isWrong };
    };
    return queue.inTurn(block, work, signal).then(() => ended.push(block), (error) => {
      const { code } = ConnectError.from(error);
      assert.equal(code, signal?.aborted ? Code.Canceled : Code.ResourceExhausted);
      ended.push(`${block} ${signal?.aborted ? "left" : "refused"}`);
    });
  };
  return { clock, come, ended };
}

Deno.test("PasswordQueue lets address blocks take turns, and refuses what floods one", async () => {
  const { clock, come, ended } = rigged();
  for (let n = 0; n < 100; n++) void come("storm", false);
  void come("other", false);
  await clock.advance(10 * HASH_MS);
  assert.equal(ended.filter((each) => each === "storm refused").length, 95);
  const served = ended.filter((each) => !each.endsWith("refused"));
  assert.deepEqual(served, ["storm", "other", "storm", "storm", "storm", "storm"]);
});

Deno.test("PasswordQueue lets who comes from a new address in before those who guess", async () => {
  const { clock, come, ended } = rigged({ waiting: 8 });
  const guessers = Array.from({ length: 30 }, (_, n) => `guesser ${n}`);
  for (const block of guessers.slice(0, 9)) void come(block, true);
  await clock.advance(9 * 2 * HASH_MS);
  for (const block of guessers.slice(0, 9)) void come(block, true);
  ended.length = 0;
  void come("new", false);
  await clock.advance(2 * HASH_MS);
  // The queue was full: the last that guesses makes room.
  assert.deepEqual(ended, ["guesser 8 refused", "guesser 0", "new"]);
});

Deno.test("PasswordQueue gives the place of who left to others, and hashes nothing for them", async () => {
  const { clock, come, ended } = rigged({ waiting: 2 });
  const leaving = new AbortController();
  void come("served", false, leaving.signal);
  void come("leaves", false, leaving.signal);
  void come("leaves", false, leaving.signal);
  leaving.abort();
  for (const block of ["new", "other"]) void come(block, false);
  await clock.advance(3 * HASH_MS);
  assert.deepEqual(ended, ["leaves left", "leaves left", "served", "new", "other"]);
});

Deno.test("PasswordQueue lets new addresses in while many guess that were not checked yet", async () => {
  const { clock, come, ended } = rigged({ waiting: 16 });
  const guessers = Array.from({ length: 20 }, (_, n) => `guesser ${n}`);
  // 100 guesses a second for four seconds: each block again and again.
  const storm = async (ms: number) => {
    for (let at = 0; at < ms; at += 10) {
      void come(guessers[at / 10 % guessers.length] ?? "", true);
      await clock.advance(10);
    }
  };
  await storm(1_000);
  assert.ok(ended.filter((each) => !each.endsWith("refused")).length <= 6, "few were checked");
  ended.length = 0;
  void come("new", false);
  await storm(2 * HASH_MS);
  assert.ok(ended.includes("new"), ended.join());
  ended.length = 0;
  // Nor do they take more than a tenth of a processor.
  await storm(9_000);
  const checked = ended.filter((each) => !each.endsWith("refused")).length;
  assert.ok(checked > 0 && checked <= 9_000 / (10 * HASH_MS) + 2, `${checked} were checked`);
});

Deno.test("PasswordQueue rests as long as a wrong one took, for nobody who was never wrong", async () => {
  const { clock, come, ended } = rigged();
  void come("guesser", true);
  void come("guesser", true);
  await clock.advance(2 * HASH_MS - 1);
  assert.deepEqual(ended, ["guesser"], "it rests");
  await clock.advance(HASH_MS + 1);
  assert.deepEqual(ended, ["guesser", "guesser"]);
  void come("guesser", true);
  void come("new", false);
  await clock.advance(HASH_MS);
  assert.deepEqual(ended.slice(2), ["new"], "who comes while it rests is served at once");
});

Deno.test("PasswordQueue rests the longer the more often a block was wrong, up to nine times", async () => {
  const { clock, come, ended } = rigged();
  void come("mistypes", true);
  await clock.advance(HASH_MS);
  for (const rests of [1, 2, 3]) {
    // Who types in that time is served at once.
    await clock.advance(rests * HASH_MS);
    void come("mistypes", true);
    await clock.advance(HASH_MS);
    assert.equal(ended.length, rests + 1);
  }
  for (let n = 0; n < 20; n++) {
    void come("mistypes", true);
    await clock.advance(10 * HASH_MS);
  }
  assert.equal(ended.length, 24);
  void come("mistypes", true);
  void come("mistypes", true);
  await clock.advance(10 * HASH_MS + HASH_MS - 1);
  assert.equal(ended.length, 25, "it rests nine times as long");
  await clock.advance(1);
  assert.equal(ended.length, 26);
});

Deno.test("PasswordQueue rests on after who had a turn meanwhile", async () => {
  const { clock, come, ended } = rigged();
  for (let n = 0; n < 3; n++) void come("guesser", true);
  await clock.advance(HASH_MS);
  void come("new", false);
  // The guesser's rest is of twice as long as the wrong one took; the new one had half of it.
  await clock.advance(3 * HASH_MS - 1);
  assert.deepEqual(ended, ["guesser", "new"]);
  await clock.advance(1);
  assert.deepEqual(ended, ["guesser", "new", "guesser"]);
});

Deno.test("PasswordQueue forgets one wrong attempt a minute, also of who goes on", async () => {
  const { clock, come, ended } = rigged();
  // Every other minute one of an office is wrong: the next is served at once, the whole day.
  for (let n = 0; n < 100; n++) {
    void come("office", true);
    await clock.advance(HASH_MS);
    void come("office", false);
    await clock.advance(2 * HASH_MS);
    assert.equal(ended.length, 2 * n + 2);
    await clock.advance(2 * 60_000);
  }
  // A storm leaves nothing behind for longer than some minutes.
  for (let n = 0; n < 500; n++) void come("office", true);
  await clock.advance(20 * 60_000);
  ended.length = 0;
  void come("new", true);
  void come("office", false);
  void come("new", false);
  await clock.advance(4 * HASH_MS);
  assert.deepEqual(ended, ["new", "office", "new"]);
});

Deno.test("PasswordQueue forgets after ten minutes who was wrong", async () => {
  const { clock, come, ended } = rigged();
  void come("once wrong", true);
  await clock.advance(11 * 60_000);
  void come("first", false);
  void come("once wrong", false);
  void come("other", false);
  await clock.advance(4 * HASH_MS);
  assert.deepEqual(ended, ["once wrong", "first", "once wrong", "other"]);
});

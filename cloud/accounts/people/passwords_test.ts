import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { passwordProblem, Passwords } from "./passwords.ts";

Deno.test("Passwords checks what it hashed, in any form of Unicode, and nothing else", async () => {
  const passwords = new Passwords();
  const hash = await passwords.hash("pässword ok", { address: "" });
  assert.match(hash, /^\$scrypt\$ln=15,r=8,p=2\$/);
  assert.equal(await passwords.fits("pässword ok".normalize("NFD"), hash, { address: "" }), true);
  assert.equal(await passwords.fits("password ok", hash, { address: "" }), false);
  assert.equal(await passwords.fits("password ok", null, { address: "" }), false);
  assert.equal(await passwords.fits("x".repeat(10_000), hash, { address: "" }), false);
});

Deno.test("Passwords lets nobody who is known wait for a stranger's password", async () => {
  const ended = Promise.withResolvers<void>();
  const wrong = Buffer.alloc(32);
  const derive = (password: string) =>
    password === "guess" ? ended.promise.then(() => wrong) : Promise.resolve(wrong);
  const passwords = new Passwords({ waiting: 2 }, derive);
  const hash = "$scrypt$ln=15,r=8,p=2$c2FsdHNhbHQ$" + wrong.toString("base64");
  const guess = passwords.fits("guess", hash, { address: "203.0.113.1" });
  const turn = { address: "198.51.100.2", knownPerson: "p" };
  assert.equal(await passwords.fits("right one", hash, turn), true);
  // Those who are known have a queue of the same length.
  const many = ["guess", ...Array(5).fill("right one")].map((each) =>
    passwords.fits(each, hash, turn)
  );
  const outcomes = Promise.allSettled(many);
  ended.resolve();
  const refused = (await outcomes).filter(({ status }) => status === "rejected");
  assert.equal(refused.length, 3);
  await guess;
});

Deno.test("passwordProblem() wants length, and neither repetition nor the address", () => {
  assert.equal(passwordProblem("correct horse", "a@b.example"), undefined);
  assert.match(passwordProblem("short", "")?.message ?? "", /at least 8/);
  assert.match(passwordProblem("aaaaaaaaaa", "")?.message ?? "", /different/);
  assert.match(passwordProblem("ann.miller", "ann.miller@b.example")?.message ?? "", /your e-mail/);
  assert.match(passwordProblem("x1y".repeat(100), "")?.message ?? "", /more than 256/);
});

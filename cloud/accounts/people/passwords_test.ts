import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Code, ConnectError } from "@connectrpc/connect";
import { passwordProblem, Passwords } from "./passwords.ts";

Deno.test("Passwords checks what it hashed, in any form of Unicode, and nothing else", async () => {
  const passwords = new Passwords();
  const hash = await passwords.hash("pässword ok", "");
  assert.match(hash, /^\$scrypt\$ln=15,r=8,p=2\$/);
  assert.equal(await passwords.fits("pässword ok".normalize("NFD"), hash, { address: "" }), true);
  assert.equal(await passwords.fits("password ok", hash, { address: "" }), false);
  assert.equal(await passwords.fits("password ok", null, { address: "" }), false);
  assert.equal(await passwords.fits("x".repeat(10_000), hash, { address: "" }), false);
});

Deno.test("Passwords lets others sign in during a storm, and refuses the storm", async () => {
  const passwords = new Passwords();
  const hash = await passwords.hash("right one", "");
  const ended: string[] = [];
  const note = (name: string) => (result: unknown) => {
    ended.push(name);
    return result;
  };
  const storm = Array.from(
    { length: 100 },
    (_, i) =>
      passwords.fits(`guess ${i}`, hash, { address: "203.0.113.7" }).then(
        note("storm"),
        note("refused"),
      ),
  );
  const other = passwords.fits("right one", hash, { address: "198.51.100.1" }).then(note("other"));
  const outcomes = await Promise.all(storm);
  assert.equal(await other, true);
  const refused = outcomes.filter((each) => each instanceof ConnectError);
  assert.equal(refused.length, 95, "one is checked, four wait");
  for (const error of refused) assert.equal(ConnectError.from(error).code, Code.ResourceExhausted);
  const checked = ended.filter((each) => each !== "refused");
  assert.ok(checked.indexOf("other") <= 1, `in turn: ${checked}`);
});

Deno.test("Passwords lets people in from where they were before, whoever fills the queue", async () => {
  const passwords = new Passwords({ waiting: 8 });
  const hash = await passwords.hash("right one", "");
  const ended: string[] = [];
  const storm = Array.from(
    { length: 12 },
    (_, i) =>
      passwords.fits("guess", hash, { address: `203.0.113.${i}` })
        .then(() => ended.push("stranger"), () => ended.push("refused")),
  );
  const stranger = passwords.fits("right one", hash, { address: "198.51.100.1" })
    .catch((error) => ConnectError.from(error).code);
  const known = passwords.fits("right one", hash, { address: "198.51.100.2", isKnown: true })
    .then((fits) => {
      ended.push("known");
      return fits;
    });
  assert.equal(await stranger, Code.ResourceExhausted);
  assert.equal(await known, true);
  await Promise.all(storm);
  assert.ok(ended.filter((each) => each !== "refused").indexOf("known") <= 1, `in turn: ${ended}`);
});

Deno.test("Passwords lets nobody who is known wait for a stranger's password", async () => {
  const ended = Promise.withResolvers<void>();
  const wrong = Buffer.alloc(32);
  const derive = (password: string) =>
    password === "guess" ? ended.promise.then(() => wrong) : Promise.resolve(wrong);
  const passwords = new Passwords({ waiting: 2 }, derive);
  const hash = "$scrypt$ln=15,r=8,p=2$c2FsdHNhbHQ$" + wrong.toString("base64");
  const guess = passwords.fits("guess", hash, { address: "203.0.113.1" });
  const turn = { address: "198.51.100.2", isKnown: true };
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
  assert.match(passwordProblem("short", "") ?? "", /at least 8/);
  assert.match(passwordProblem("aaaaaaaaaa", "") ?? "", /different/);
  assert.match(passwordProblem("ann.miller", "ann.miller@b.example") ?? "", /your e-mail/);
  assert.match(passwordProblem("x1y".repeat(100), "") ?? "", /more than 256/);
});

import assert from "node:assert/strict";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { defaultSender, Mailer, MailError } from "./mailer.ts";
import { FakeMailServer } from "./fake_mail_server.ts";

const mail = {
  to: "ops@example.com",
  subject: "Maschine in Zürich: online",
  text: "Hello\n",
  html: "<p>Hello</p>",
  id: "msg_1",
};
const from = () => "Machines <cloud@example.com>";

async function failureOf(sending: Promise<unknown>): Promise<MailError> {
  const error = await sending.then(() => undefined, (error) => error);
  assert.ok(error instanceof MailError, String(error));
  return error;
}

async function withMailer(smtpUrl: string, use: (mailer: Mailer) => Promise<void>): Promise<void> {
  const mailer = new Mailer({ smtpUrl, from });
  try {
    await use(mailer);
  } finally {
    await mailer.close();
  }
}

Deno.test("Mailer.send() sends both forms, with one id and marked as automatic", async () => {
  await using server = await FakeMailServer.start();
  await withMailer(server.url, async (mailer) => {
    assert.match(await mailer.send(mail), /^250/);
    await mailer.send(mail);
    const [first, second] = await server.received(2);
    assert.ok(first && second);
    assert.deepEqual(first.to, ["ops@example.com"]);
    assert.match(first.text, /^Message-ID: <msg_1@example\.com>/m);
    assert.match(second.text, /^Message-ID: <msg_1@example\.com>/m);
    assert.match(first.text, /^Auto-Submitted: auto-generated/m);
    assert.match(first.text, /multipart\/alternative/);
  });
});

Deno.test("Mailer.send() signs in, with what the URL says", async () => {
  const given: unknown[] = [];
  await using server = await FakeMailServer.start({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      given.push([username, password]);
      if (password === "p@ss") done(null, { user: username });
      else done(new Error("wrong password"));
    },
  });
  await withMailer(`smtp://us%40er:p%40ss@127.0.0.1:${server.port}`, async (mailer) => {
    await mailer.send(mail);
    assert.equal((await server.received(1))[0]?.user, "us@er");
    assert.deepEqual(given, [["us@er", "p@ss"]]);
  });
  await withMailer(`smtp://user:wrong@127.0.0.1:${server.port}`, async (mailer) => {
    const error = await failureOf(mailer.send(mail));
    assert.equal(error.isRetryable, true, "the operator may mend it");
    assert.equal(error.isOfOneRecipient, false);
    assert.equal(error.statusCode, 535);
    assert.doesNotMatch(error.message, /wrong@/);
  });
});

Deno.test("Mailer.send() talks TLS, and does not trust a certificate that nobody vouches for", async () => {
  await using secure = await FakeMailServer.start({ secure: true });
  await withMailer(`smtps://127.0.0.1:${secure.port}`, async (mailer) => {
    const error = await failureOf(mailer.send(mail));
    assert.match(error.message, /certificate|issuer|UnknownIssuer/i);
    assert.equal(error.isRetryable, true);
  });
  await using starting = await FakeMailServer.start({ disabledCommands: [] });
  await withMailer(starting.url, async (mailer) => {
    const error = await failureOf(mailer.send(mail));
    assert.match(error.message, /certificate|issuer|UnknownIssuer/i);
  });
  assert.equal(secure.mails.length + starting.mails.length, 0);
});

Deno.test("Mailer.send() tells what may be tried again from what may not", async () => {
  const answers = new Map([
    ["full@example.com", { code: 452, message: "mailbox full" }],
    ["nobody@example.com", { code: 550, message: "no such user" }],
  ]);
  await using server = await FakeMailServer.start({
    onRcptTo: ({ address }, _session, done) => {
      const answer = answers.get(address);
      if (!answer) return done();
      done(Object.assign(new Error(answer.message), { responseCode: answer.code }));
    },
  });
  await withMailer(server.url, async (mailer) => {
    const full = await failureOf(mailer.send({ ...mail, to: "full@example.com" }));
    assert.deepEqual([full.statusCode, full.isRetryable, full.isOfOneRecipient], [452, true, true]);
    const nobody = await failureOf(mailer.send({ ...mail, to: "nobody@example.com" }));
    assert.deepEqual([nobody.statusCode, nobody.isRetryable], [550, false]);
    await mailer.send(mail);
  });
});

Deno.test("Mailer.send() is to be tried again when the server is away", async () => {
  await withMailer(`smtp://127.0.0.1:${freePort()}`, async (mailer) => {
    const error = await failureOf(mailer.send(mail));
    assert.equal(error.isRetryable, true);
    assert.equal(error.statusCode, undefined);
    assert.equal(error.isOfOneRecipient, false);
  });
});

Deno.test("Mailer.send() sends no password over plaintext to another computer", async () => {
  await using server = await FakeMailServer.start({ allowInsecureAuth: true });
  // The name of this host's own network stands for another host here.
  await withMailer(`smtp://user:pw@0.0.0.0:${server.port}`, async (mailer) => {
    const error = await failureOf(mailer.send(mail));
    assert.match(error.message, /STARTTLS/i);
  });
  assert.equal(server.mails.length, 0);
});

Deno.test("defaultSender() is at the host of the public URL, where that has a name", () => {
  assert.equal(defaultSender("https://cloud.example.com:8443"), "machine-cloud@cloud.example.com");
  assert.equal(defaultSender("http://127.0.0.1:8080"), "machine-cloud@localhost");
  assert.equal(defaultSender("http://[::1]:8080"), "machine-cloud@localhost");
});

/** Signing in by password, the commands about people and fragments, and what history shows. */
import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { codeOf, stepAt } from "../../cloud/accounts/second_factor/totp.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { connect } from "../../cli/program/connect.ts";
import { ConfigurationService } from "../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { FakeMailServer } from "../../cloud/triggers/mail/fake_mail_server.ts";
import { CliRig } from "./rig.ts";

const ANN = "ann@example.com";
const PASSWORD = " correct horse battery ";

/** Answers questions in turn; a question that was not expected fails. */
function answering(...answers: string[]) {
  const asked: [question: string, hidden: boolean][] = [];
  return {
    asked,
    deps: {
      ask: (question: string, { hidden = false } = {}) => {
        asked.push([question, hidden]);
        const answer = answers.shift();
        return answer === undefined
          ? Promise.reject(new Error(`asked: ${question}`))
          : Promise.resolve(answer);
      },
    },
  };
}

function fromBase32(text: string): Uint8Array {
  const digits = [...text].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter));
  const bits = digits.map((digit) => digit.toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => parseInt(byte, 2));
}

async function savedToken(rig: CliRig, profile: string): Promise<string> {
  const text = await Deno.readTextFile(rig.path("settings/profiles.json"));
  assert.ok(!text.includes(PASSWORD), "the password is kept nowhere");
  return JSON.parse(text).profiles[profile].access_token;
}

Deno.test("people sign in by password, and logout ends their session", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  const login = ["login", "--cloud", rig.cloud.url, "--profile", "ann"];

  const wrong = answering("something else");
  await assert.rejects(
    rig.run([...login, "--email", ANN], wrong),
    (error: Error) => {
      assert.match(error.message, /password/);
      assert.doesNotMatch(error.message, /API key|unauthenticated/);
      return true;
    },
  );
  const right = answering(ANN, PASSWORD);
  const { out } = await rig.run(login, right);
  assert.match(out, /\(Acme\), profile ann/);
  assert.deepEqual(right.asked.map(([, hidden]) => hidden), [false, true]);

  const me = await rig.json("whoami");
  assert.deepEqual([me.email, me.key_id, me.profile], [ANN, "", "ann"]);
  assert.equal((await rig.json("machines", "list")).length, 1);
  await assert.rejects(
    rig.run(["resources", "demo", "--address", "http://127.0.0.1:1"]),
    /--address needs an API key/,
  );

  const token = await savedToken(rig, "ann");
  await rig.account(token).getAccount({});
  assert.equal((await rig.json("logout")).session_ended, true);
  await assert.rejects(rig.account(token).getAccount({}), /session is no longer valid/);
  assert.equal((await rig.json("whoami")).profile, "default");
});

/** A browser in which somebody is signed in, and lets every program in. */
async function browserOf(rig: CliRig, email: string) {
  const send = (path: string, body: BodyInit, headers: Record<string, string>) =>
    fetch(new URL(path, rig.cloud.url), {
      ...{ method: "POST", body, redirect: "manual" },
      headers: { origin: rig.cloud.url, ...headers },
    });
  const signedIn = await send("/account/session", JSON.stringify({ email, password: PASSWORD }), {
    "content-type": "application/json",
  });
  await signedIn.body?.cancel();
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  return async (url: string) => {
    const { pathname, searchParams } = new URL(url);
    const fields = new URLSearchParams(searchParams);
    fields.set("decision", "allow");
    const text = await (await send(pathname, fields, { cookie })).text();
    const onward = /content="0;url=([^"]*)"/.exec(text)?.[1]?.replaceAll("&#38;", "&");
    if (onward === undefined) return text;
    return await (await fetch(onward)).text();
  };
}

Deno.test("login opens the browser at a terminal, and shows a code where there is none", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  const letIn = await browserOf(rig, ANN);
  const login = ["login", "--cloud", rig.cloud.url, "--profile", "ann"];
  const shown: string[] = [];
  const at = (open: (url: string) => Promise<boolean>) => ({
    deps: {
      browser: {
        ...{ clock: systemClock, isInteractive: true, computer: "desk", open },
        tell(text: string) {
          shown.push(text);
          const device = /http:\S+device\?code=\S+/.exec(text)?.[0];
          if (device) void letIn(device);
        },
      },
    },
  });
  let page = "";
  const opens = async (url: string) => {
    // Other programs of this host, that know neither state nor path, say nothing.
    const port = new URL(new URL(url).searchParams.get("redirect_uri") ?? "").origin;
    for (const path of ["/callback?code=x&state=guessed", "/"]) {
      assert.equal(await (await fetch(port + path)).text(), "not found");
    }
    page = await letIn(url);
    return true;
  };
  await rig.run(login, at(opens));
  assert.match(page, /You are signed in/);
  assert.equal((await rig.json("whoami")).email, ANN);
  await rig.run([...login, "--profile", "server"], at(() => Promise.resolve(false)));
  assert.match(shown.at(-1) ?? "", /shows the code [A-Z]{4}-[A-Z]{4}\.$/m);
  const { sessions } = await rig.account(await savedToken(rig, "server")).listSessions({});
  assert.equal(sessions.filter(({ method }) => method === "command line").length, 2);
  await assert.rejects(
    rig.run([...login, "--browser", "--device-code"]),
    /--browser and --device-code do not go together/,
  );
});

Deno.test("a session that has ended says how to sign in again, and can be forgotten", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  const login = ["login", "--cloud", rig.cloud.url, "--email", ANN];
  await rig.run(login, answering(PASSWORD));
  await rig.account(await savedToken(rig, "default")).endSession({});
  await assert.rejects(
    rig.run(["machines", "list"]),
    /session of ann@example\.com .*machine login --cloud \S+ --email ann@example\.com$/,
  );
  assert.match((await rig.run(["logout"])).out, /was closed|is no longer valid/);
});

Deno.test("sessions lists where somebody is signed in, and ends one or all others", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  await assert.rejects(
    rig.run(["sessions", "list"]),
    /this is for people who signed in; these are api-key credentials$/,
  );
  for (const profile of ["lost", "old", "ann"]) {
    const login = ["login", "--cloud", rig.cloud.url, "--email", ANN, "--profile", profile];
    await rig.run(login, answering(PASSWORD));
  }
  const listed: { id: string; is_current: boolean }[] = await rig.json("sessions", "list");
  const [own] = listed.filter((one) => one.is_current);
  const lost: string = (await rig.json("--profile", "lost", "sessions", "list"))
    .find((one: { is_current: boolean }) => one.is_current).id;
  const { out } = await rig.run(["sessions", "list"]);
  const ownLine = `^${own?.id} +this one +password +127\\.0\\.0\\.1 +machine/\\S+ +2`;
  assert.match(out, new RegExp(ownLine, "m"));
  assert.match(out, new RegExp(`^${lost} +password `, "m"));

  await assert.rejects(rig.run(["sessions", "end"]), /the id of a session or --all-others/);
  await assert.rejects(
    rig.run(["sessions", "end", lost, "--all-others"]),
    { name: "UsageError", message: /the id of a session or --all-others/ },
  );
  await assert.rejects(rig.run(["sessions", "end", own!.id]), /; machine logout ends it$/);
  assert.deepEqual(await rig.json("sessions", "end", lost), { id: lost, ended: 1 });
  await assert.rejects(rig.run(["--profile", "lost", "whoami"]), /session of ann@example\.com/);
  await assert.rejects(
    rig.run(["sessions", "end", lost]),
    /no open session with id .*; machine sessions list shows what there is$/,
  );
  const others = (await rig.json("sessions", "list")).length - 1;
  assert.equal((await rig.json("sessions", "end", "--all-others")).ended, others);
  await assert.rejects(rig.run(["--profile", "old", "whoami"]), /session of ann@example\.com/);
  assert.deepEqual(
    (await rig.json("sessions", "list")).map(({ id }: { id: string }) => id),
    [own?.id],
  );
});

Deno.test("a second factor is asked for", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  const login = ["login", "--cloud", rig.cloud.url, "--email", ANN];
  await rig.run(login, answering(PASSWORD));
  const account = rig.account(await savedToken(rig, "default"));
  const { secret } = await account.startSecondFactor({});
  const step = stepAt(new Date());
  const { recoveryCodes: [recovery = ""] } = await account.confirmSecondFactor({
    code: codeOf(fromBase32(secret), step),
    password: PASSWORD,
  });
  await assert.rejects(rig.run(login, answering(PASSWORD, "000000")), /code: it is wrong/);
  const asked = answering(PASSWORD, recovery);
  await rig.run(login, asked);
  assert.match(asked.asked.at(-1)?.[0] ?? "", /^Code of your authenticator/);
});

Deno.test("people are invited, listed and removed", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  const invited = await rig.json("members", "invite", "ben@example.com", "--role", "operator");
  assert.equal(invited.email, "ben@example.com");
  await rig.run(["members", "invite", "cy@example.com", "--role", "owner", "--machine", "demo"]);
  for (const words of [["members", "invite", "cy@example.com"], ["keys", "create", "ci"]]) {
    await assert.rejects(rig.run(words), { name: "UsageError", message: /--role/ });
  }
  const of = ["--role", "operator", "--location", rig.made.location_id];
  const { out: told } = await rig.run(["members", "invite", "di@example.com", ...of]);
  assert.match(told, /di@example\.com is invited as operator of location Lab;/);
  await rig.run(["members", "remove", "di@example.com", "--yes"]);
  assert.match(
    (await rig.run(["keys", "create", "ci", ...of])).out,
    /^may {2}operator of location Lab$/m,
  );
  const { members, invites } = await rig.json("members", "list");
  assert.deepEqual(members.map(({ emails }: { emails: string[] }) => emails), [[ANN]]);
  assert.deepEqual(
    invites.map(({ email, roles }: { email: string; roles: string[] }) => [email, roles]),
    [["ben@example.com", ["organization_operator"]], ["cy@example.com", ["robot_owner"]]],
  );
  const { out } = await rig.run(["members", "list"]);
  assert.match(out, /ann@example\.com +owner/);
  assert.match(out, /ben@example\.com +invited/);
  await assert.rejects(rig.run(["members", "remove", "ben@example.com"]), /confirm with --yes/);
  await rig.run(["members", "remove", "ben@example.com", "--yes"]);
  await rig.run(["members", "remove", "cy@example.com", "--yes"]);
  assert.deepEqual((await rig.json("members", "list")).invites, []);
  await rig.run(["members", "remove", ANN, "--yes"]);
  assert.deepEqual((await rig.json("members", "list")).members, []);
  await rig.run(
    ["login", "--cloud", rig.cloud.url, "--email", ANN, "--profile", "ann"],
    answering(PASSWORD),
  );
  await assert.rejects(
    rig.run(["machines", "list"]),
    /you belong to no organisation; ask an owner/,
  );
  await rig.run(["profiles", "use", "default"]);
  await assert.rejects(
    rig.run(["members", "remove", "dan@example.com", "--yes"]),
    /"dan@example\.com" is neither a member nor invited/,
  );
});

Deno.test("an invitation waits for a mail server that is down, and is sent once more", async () => {
  let isDown = true;
  await using mail = await FakeMailServer.start({
    onConnect: (_, callback) => callback(isDown ? new Error("go away") : null),
  });
  await using rig = await CliRig.open(undefined, mail.url);
  const invite = ["members", "invite", "ben@example.com", "--role", "operator"];
  await assert.rejects(rig.run(invite), (error: Error) => {
    assert.match(error.message, /ben@example\.com is invited, but the mail server did not take/);
    assert.match(error.message, /go away.*; send it later with machine members resend ben@exa/);
    assert.doesNotMatch(error.message, /cannot reach a cloud|ResendOrganizationInvite/);
    return true;
  });
  await assert.rejects(rig.run(invite), /is invited already; machine members resend ben@example/);
  isDown = false;
  await rig.run(["members", "resend", "ben@example.com"]);
  assert.deepEqual(mail.mails.map(({ to }) => to), [["ben@example.com"]]);
  await assert.rejects(
    rig.run(["members", "resend", "cy@example.com"]),
    /cy@example\.com.*; machine members list shows what there is/,
  );
});

Deno.test("fragments are made, replaced, listed and deleted", async () => {
  await using rig = await CliRig.open();
  const host = { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" };
  const file = await rig.write("fragment.json", { components: [host] });
  const made = await rig.json("fragments", "create", "base", file, "--visibility", "public");
  assert.deepEqual([made.name, made.visibility], ["base", "public"]);
  assert.match(
    (await rig.run(["fragments", "list"])).out,
    new RegExp(`^${made.id} +base +public`, "m"),
  );
  assert.equal((await rig.json("fragments", "get", "base")).config.components[0].name, "host");

  const other = await rig.write("other.json", { components: [{ ...host, name: "other" }] });
  const saved = await rig.json("fragments", "set", "base", other);
  assert.notEqual(saved.revision, made.revision);
  assert.equal(saved.visibility, "public", "stays as it was");
  const { config } = await rig.json("fragments", "get", "base");
  assert.equal(config.components[0].name, "other");
  const history = await rig.json("fragments", "history", "base");
  assert.ok(history.length >= 1);
  assert.equal(history[0].saved_by, rig.made.api_key_id);

  const tags = async (...args: string[]) => (await rig.json("fragments", ...args)).tags;
  assert.deepEqual(await tags("tag", "base", "stable", made.revision), [
    { tag: "stable", revision: made.revision },
  ]);
  assert.deepEqual(await rig.json("fragments", "drift", "base"), []);
  const included = { id: made.id, version: "stable" };
  await rig.run(["config", "set", "demo", await rig.write("c.json", { fragments: [included] })]);
  const [drift] = await rig.json("fragments", "drift", "base");
  assert.deepEqual(
    [drift.machine_name, drift.revision, drift.newest_revision],
    ["demo", made.revision, saved.revision],
  );
  assert.match(
    (await rig.run(["fragments", "drift", "base"])).out,
    /demo +\S+ +1 of 2 +components\.other$/m,
  );
  assert.deepEqual(await tags("tag", "base", "stable"), [
    { tag: "stable", revision: saved.revision },
  ]);
  assert.deepEqual(await rig.json("fragments", "drift", "base"), []);
  await assert.rejects(rig.run(["fragments", "tag", "base", "next", "99"]), /99/);
  await rig.run(["config", "set", "demo", await rig.write("c.json", {})]);
  assert.deepEqual(await tags("untag", "base", "stable"), []);
  await rig.run(["fragments", "delete", "base", "--yes"]);
  assert.deepEqual(await rig.json("fragments", "list"), []);
  await assert.rejects(rig.run(["fragments", "get", "base"]), /there is no fragment called "base"/);
});

Deno.test("history tells what was saved by the command line", async () => {
  await using rig = await CliRig.open();
  const file = await rig.write("config.json", { debug: true });
  await rig.run(["config", "set", "demo", file]);
  const { api_key_id: key_id, api_key: key, part_id: partId } = rig.made;
  await using cloud = connect({ cloud: rig.cloud.url, key_id, key });
  const configuration = createClient(ConfigurationService, cloud.transport);
  const { revisions } = await configuration.listRevisions({ partId });
  assert.equal(revisions[0]?.savedHow, "cli");
});

Deno.test("history and diff name what a fragment changed", async () => {
  await using rig = await CliRig.open();
  const component = (name: string) => ({ name, api: "rdk:component:sensor", model: "fake" });
  const file = await rig.write("f.json", { components: [component("one")] });
  const { id } = await rig.json("fragments", "create", "base", file);
  await rig.run(["config", "set", "demo", await rig.write("c.json", { fragments: [{ id }] })]);
  await rig.write("f.json", { components: [component("two")] });
  await rig.run(["fragments", "set", "base", file]);
  const [newest] = await rig.json("config", "history", "demo");
  assert.deepEqual([newest.saved_how, newest.changes], ["fragment", [
    "+ components.two",
    "- components.one",
  ]]);
  assert.match((await rig.run(["config", "history", "demo"])).out, /\+ components\.two, - comp/);
  const { changes } = await rig.json("config", "diff", "demo", "1", "0");
  assert.deepEqual(changes, [
    "- components.one (by a fragment)",
    "+ components.two (by a fragment)",
  ]);
});

Deno.test("organizations logo sets a picture that the cloud serves, and takes it away", async () => {
  await using rig = await CliRig.open();
  const file = await rig.write("logo.png", "");
  await Deno.writeFile(file, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
  assert.match((await rig.run(["organizations", "logo", "show"])).out, /logo set FILE/);
  const { url } = await rig.json("organizations", "logo", "set", file);
  const answer = await fetch(new URL(new URL(url).pathname, rig.cloud.url));
  assert.deepEqual(await answer.bytes(), await Deno.readFile(file));
  assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  assert.equal((await rig.run(["organizations", "logo", "show"])).out, `${url}\n`);

  const text = await rig.write("logo.svg", "<svg/>");
  await assert.rejects(rig.run(["organizations", "logo", "set", text]), /no PNG, JPEG or WebP/);
  const missing = rig.path("none.png");
  await assert.rejects(rig.run(["organizations", "logo", "set", missing]), /cannot read the logo/);
  await rig.run(["organizations", "logo", "remove"]);
  assert.equal((await rig.json("organizations", "logo", "show")).url, "");
});

Deno.test("members role changes what a member, or who is invited, may do; lists say it by name", async () => {
  await using rig = await CliRig.open({ email: ANN, password: PASSWORD });
  const operator = ["members", "role", ANN, "--role", "operator"];
  await rig.run([...operator, "--location", "Lab"]);
  const [lab] = await rig.json("locations", "list");
  const row = async (email: string) =>
    (await rig.run(["members", "list"])).out.split("\n").find((line) => line.includes(email)) ?? "";
  assert.match(await row(ANN), new RegExp(`owner, operator of location ${lab.name} `));
  const owner = ["members", "role", ANN, "--role", "owner", "--location", "Lab"];
  assert.match((await rig.run(owner)).out, /is owner of location Lab now/);
  assert.match((await rig.run(owner)).out, /is owner of location Lab now/, "once more is the same");
  assert.match((await rig.run(operator)).out, /is operator now/);
  const [member] = (await rig.json("members", "list")).members;
  assert.deepEqual(member.roles.toSorted(), ["location_owner", "organization_operator"]);

  await rig.run(["members", "invite", "cleo@example.com", "--role", "operator"]);
  const cleo = ["members", "role", "cleo@example.com", "--role", "owner"];
  assert.match((await rig.run(cleo)).out, /invited as owner now/);
  assert.match(await row("cleo@example.com"), /invited +owner /);
  await rig.run([...cleo, "--machine", "demo"]);
  assert.match(await row("cleo@example.com"), /owner, owner of machine demo /);
  await assert.rejects(
    rig.run(["members", "role", "nobody@example.com", "--role", "owner"]),
    /"nobody@example.com" is neither a member nor invited; machine members list shows who is/,
  );
});

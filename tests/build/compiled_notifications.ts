/** A compiled cloud that really notifies somebody: what it loads late must be in the binary too. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeReceiver } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { FakeMailServer } from "../../cloud/triggers/mail/fake_mail_server.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";

const LIMIT_MS = 180_000;

/** Runs the binary to its end and gives back what it printed. */
async function run(binary: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(binary, {
    args,
    stdin: "null",
    signal: AbortSignal.timeout(LIMIT_MS),
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout);
}

/** A trigger whose sample goes to the receiver and to the mail server. */
function config(receiver: FakeReceiver) {
  return {
    triggers: [{
      name: "hot",
      event: {
        type: "conditional_data_ingested",
        conditional: {
          data_capture_method: "sensor:host:Readings",
          conditions: { evals: [{ operator: "regex", value: { state: "^hot+$" } }] },
        },
      },
      notifications: [
        { type: "webhook", value: `${receiver.origin}/hook` },
        { type: "email", value: "ops@example.com" },
      ],
    }],
  };
}

/** Serves with the binary, tests the trigger with it, and looks at what arrives. */
export async function deliverFromBinary(binary: string, dir: string): Promise<void> {
  await using receiver = FakeReceiver.start();
  await using mail = await FakeMailServer.start();
  const data = join(dir, "cloud");
  const file = join(dir, "config.json");
  await Deno.writeTextFile(file, JSON.stringify(config(receiver)));
  await run(binary, [
    ...["bootstrap", "--data", data, "--org", "o", "--location", "l"],
    ...["--machine", "m", "--config", file],
  ]);
  const serving = new Deno.Command(binary, {
    args: [
      ...["serve", "--listen", "127.0.0.1:0", "--data", data, "--allow-private-webhooks"],
      ...["--smtp-url", mail.url, "--mail-from", "cloud@example.com"],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const limit = setTimeout(() => serving.kill("SIGKILL"), LIMIT_MS);
  let output = "";
  const reading = (async () => {
    for await (const chunk of serving.stdout) output += new TextDecoder().decode(chunk);
  })();
  try {
    await waitFor(() => /serving\s+\{"url"/.test(output), {
      deadlineMs: LIMIT_MS,
      what: "a cloud that serves",
    });
    const told = await run(binary, ["trigger", "test", "--data", data, "hot"]);
    const [request] = await receiver.received(1);
    assert.match(request?.headers.get("webhook-signature") ?? "", /^v1,/, told);
    assert.equal(JSON.parse(request?.body ?? "").component_name, "host");
    const [one] = await mail.received(1);
    assert.deepEqual(one?.to, ["ops@example.com"]);
    assert.match(one.text, /Subject: Test: m: condition met \(hot\)/);
  } finally {
    serving.kill("SIGTERM");
    const { code } = await serving.status;
    await reading;
    clearTimeout(limit);
    assert.equal(code, 0, output);
  }
}

/** `machine micro new`: what it makes is right as it is. */
import assert from "node:assert/strict";
import { createHash, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { join } from "node:path";
import type { UpdateService } from "../../cli/micro/publish.ts";
import { FirstFile } from "../../micro/core/archive/first_file.ts";
import { Gunzip } from "../../micro/core/archive/inflate.ts";
import { signedText } from "../../micro/core/ota/ota.ts";
import {
  checkProject,
  readProject,
  readSigningKey,
  updateAttributes,
} from "../../tools/micro/project.ts";
import { bundleScript } from "../../tools/micro/script.ts";
import { ROOT } from "../../tools/programs.ts";
import { CliRig, runMachine } from "./rig.ts";

function projectTest(name: string, body: (folder: string) => Promise<void>): void {
  Deno.test(name, async () => {
    const dir = await Deno.makeTempDir({ prefix: "machine-micro-new-" });
    try {
      const folder = join(dir, "water-meter");
      const args = ["--sources", ROOT, "--namespace", "acme", "--quiet"];
      const { out } = await runMachine(["micro", "new", folder, ...args]);
      assert.equal(out, `${folder}\n`);
      await body(folder);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  });
}

projectTest("machine micro new makes a project whose checks and tests pass", async (folder) => {
  const project = await readProject(folder);
  assert.deepEqual([project.name, project.version], ["water-meter", "0.1.0"]);
  await checkProject(ROOT, project);
  const script = await bundleScript(ROOT, project);
  const config = JSON.parse(await Deno.readTextFile(join(folder, "config.json"))) as {
    components: { model: string }[];
  };
  assert.ok(script.includes(`"${config.components[0]?.model}"`), "the driver is not in the script");
  const make = new Deno.Command("make", {
    args: ["test", `SOURCES=${ROOT}`],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
  });
  const { code, stdout, stderr } = await make.output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.equal(code, 0, said);
  assert.match(said, /2 passed/);
});

projectTest("a driver that uses what a device does not have is refused", async (folder) => {
  const file = join(folder, "pulse_counter.ts");
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(file, `${text}setTimeout(() => fetch("http://x"), 5);\n`);
  const project = await readProject(folder);
  await assert.rejects(checkProject(ROOT, project), /setTimeout[^]*pulse_counter\.ts:\d+/);
});

projectTest("updates are signed with the key that the program asks for", async (folder) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  await Deno.writeTextFile(join(folder, "update-key.pem"), String(pem));
  await Deno.writeTextFile(
    join(folder, "update-key.pub"),
    String(publicKey.export({ type: "spki", format: "pem" })),
  );
  const project = await readProject(folder);
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
  assert.deepEqual(project.updateKey, new Uint8Array(raw));
  assert.ok((await bundleScript(ROOT, project)).includes([...raw].slice(0, 8).join(", ")));

  const image = join(folder, "image");
  await Deno.writeTextFile(image, "a program");
  const key = await readSigningKey(join(folder, "update-key.pem"));
  const { version, sha256, signature = "" } = await updateAttributes(image, project, key);
  assert.equal(sha256, createHash("sha256").update("a program").digest("hex"));
  const text = signedText(version, Uint8Array.fromHex(sha256));
  assert.ok(verify(null, text, createPublicKey(privateKey), Uint8Array.fromHex(signature)));
  await assert.rejects(
    updateAttributes(image, project, generateKeyPairSync("ed25519").privateKey),
    /not the one of the project's update-key\.pub/,
  );
});

projectTest("machine micro new changes nothing that is there", async (folder) => {
  await Deno.writeTextFile(join(folder, "program.ts"), "mine");
  await assert.rejects(runMachine(["micro", "new", folder]), /something called .* already/);
  assert.equal(await Deno.readTextFile(join(folder, "program.ts")), "mine");
  await assert.rejects(runMachine(["micro", "new", `${folder}/Über`]), /no name of a project/);
  const missing = ["micro", "new", `${folder}/x`, "--sources", folder];
  await assert.rejects(runMachine(missing), /no sources of machine-micro-server/);
});

Deno.test("machine micro publish keeps an image in the cloud, for its machines", async () => {
  await using rig = await CliRig.open();
  const image = join(rig.dir, "meter-linux-x64");
  const write = async (text: string, hashed = text) => {
    await Deno.writeTextFile(image, text);
    const sha256 = createHash("sha256").update(hashed).digest("hex");
    await Deno.writeTextFile(`${image}.json`, JSON.stringify({ version: "1.0.0", sha256 }));
  };
  await write("image", "another");
  await assert.rejects(rig.run(["micro", "publish", image]), /of another image/);
  await write("image");
  const service = JSON.parse((await rig.run(["micro", "publish", image])).out) as UpdateService;
  assert.deepEqual(await rig.json("micro", "publish", image), service, "once more");
  const { url } = service.attributes;
  const stranger = await fetch(url);
  assert.equal(stranger.status, 401);
  await stranger.body?.cancel();
  const { part_id, part_secret: secret } = rig.made;
  const machine = await fetch(url, { headers: { part_id, secret } });
  const parts: Uint8Array[] = [];
  const tar = new FirstFile({ onStart: () => {}, onBytes: (bytes) => parts.push(bytes) });
  new Gunzip((bytes) => tar.push(bytes)).push(await machine.bytes());
  assert.equal(new TextDecoder().decode(parts[0]), "image");
  await write("changed");
  await assert.rejects(rig.run(["micro", "publish", image]), /another image .* new version/);
});

/** Tries application images: built from a compiled server, installed and updated under systemd. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { imagePath } from "../../shared/transfer/releases/image_name.ts";
import { buildImage } from "../../tools/appimage/build_image.ts";
import { readElf } from "../../tools/compile/elf.ts";
import { ROOT } from "../../tools/programs.ts";
import { writeRelease } from "../../tools/release/download_folder.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";
import { SystemdComputer } from "../e2e/systemd_computer.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { CompiledCloud, untilOnline } from "./compiled_cloud.ts";

const PLATFORM = "linux/amd64";

/** A compiled machine-server, and what its images are to be. */
export interface ServerBinary {
  readonly binary: string;
  readonly platform: string;
  readonly key: SigningKey;
}

export async function makeImage(
  { binary, platform, key }: ServerBinary,
  version: string,
  dir: string,
): Promise<string> {
  const file = join(dir, `image-${version}-${platform.replace("/", "-")}`);
  const time = new Date(1_700_000_000_000);
  const releaseKey = key.publicFile;
  await buildImage(file, { binary, platform, version, releaseKey, time, root: ROOT });
  return file;
}

/** What an image's file must have, as tools for images look at it; the reader is squashfs-tools'. */
export async function checkImageFile(image: string, binary: string): Promise<void> {
  const bytes = Buffer.from(await Deno.readFile(image));
  assert.deepEqual([...bytes.subarray(8, 11)], [0x41, 0x49, 2]);
  const { end } = readElf(bytes);
  assert.equal(bytes.toString("latin1", end, end + 4), "hsqs");
  const { code, stdout, stderr } = await new Deno.Command("unsquashfs", {
    args: ["-no-progress", "-offset", String(end), "-cat", image, "usr/bin/machine-server"],
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.ok(Buffer.from(stdout).equals(await Deno.readFile(binary)), "another program is in it");
}

/** Has an image of this host unpack itself, all of it and then a part, where it is started. */
export async function checkExtraction(image: string, binary: string, dir: string): Promise<void> {
  const program = "usr/bin/machine-server";
  for (const pattern of [[], [program]]) {
    const cwd = await Deno.makeTempDir({ dir });
    const { code, stdout, stderr } = await new Deno.Command(image, {
      args: ["--appimage-extract", ...pattern],
      ...{ cwd, stdin: "null", env: { MACHINE_IMAGE_CACHE: join(dir, "no-cache") } },
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.equal(code, 0, text(stderr));
    assert.equal(text(stdout), "squashfs-root\n");
    const unpacked = await Deno.readFile(join(cwd, "squashfs-root", program));
    assert.ok(Buffer.from(unpacked).equals(await Deno.readFile(binary)), "another program");
    const first = await Deno.lstat(join(cwd, "squashfs-root", "AppRun")).catch(() => undefined);
    assert.equal(first !== undefined, pattern.length === 0, "AppRun is there with all the rest");
    await Deno.remove(cwd, { recursive: true });
  }
  await assert.rejects(Deno.stat(join(dir, "no-cache")), Deno.errors.NotFound);
}

/**
 * Installs, updates and uninstalls an image on a computer whose process 1 is systemd, with what can
 * go wrong on the way.
 */
export async function installImage(
  server: ServerBinary,
  cloudBinary: string,
  dir: string,
): Promise<void> {
  const { key } = server;
  const folder = join(dir, "downloads");
  const images = new Map<string, string>();
  for (const version of ["1.0.0", "1.1.0"]) {
    images.set(version, await makeImage(server, version, dir));
  }
  const publish = (version: string, by: SigningKey) =>
    writeRelease(
      folder,
      {
        ...{
          version,
          date: new Date().toISOString().slice(0, 10),
          commit: "abc1234",
          notes: "notes",
          bill: "{}\n",
        },
        programs: [{ program: "machine-server", platform: PLATFORM, file: server.binary }],
        packages: [{ path: imagePath(version, PLATFORM), file: images.get(version)! }],
      },
      by,
      [],
    );
  await publish("1.0.0", key);
  await using web = serveFolder(folder);

  await using computer = await SystemdComputer.create();
  await Deno.copyFile(images.get("1.0.0")!, computer.path("root/image"));
  await computer.boot();
  const serverPort = freePort(1);
  const network = { bind_address: `127.0.0.1:${serverPort}` };
  await using cloud = await CompiledCloud.bootstrap(cloudBinary, dir, { network });
  await cloud.serve();
  const env = { MACHINE_DOWNLOAD_URL: web.url };
  const refused = async (command: string, why: RegExp, user = "root"): Promise<void> => {
    const { code, stdout, stderr } = await computer.run(command, env, user);
    assert.equal(code, 1, stdout + stderr);
    assert.match(stderr, why);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    const left = await computer.run("ls -A /usr/local/bin | grep -v '^machine-server$'");
    assert.equal(left.stdout, "", "nothing half-done");
  };
  const INSTALLED = "/usr/local/bin/machine-server";

  await computer.ask("chmod 755 /root && mount -t tmpfs -o noexec,mode=755 tmpfs /mnt");
  await computer.ask("mkdir -p /var/guest && chown guest:guest /var/guest");
  const asGuest = "MACHINE_IMAGE_CACHE=/var/guest/cache /root/image --aix-install";
  await refused(asGuest, /must be run as root/, "guest");
  await refused("MACHINE_IMAGE_CACHE=/mnt /root/image -version", /mounted with noexec/);
  await computer.ask("umount /mnt && mount -t tmpfs -o size=20m,mode=755 tmpfs /mnt");
  await refused("MACHINE_IMAGE_CACHE=/mnt /root/image -version", /MB free, and \d+ MB are needed/);
  assert.equal(await computer.ask("ls -A /mnt"), "");
  await computer.ask("mkdir -p /usr/local/bin && mount --bind /mnt /usr/local/bin");
  await refused("/root/image --aix-install", /the disk is full/);
  await computer.ask("umount /usr/local/bin; umount /mnt");
  await computer.ask("mkdir -p /mnt/bin && mount -t tmpfs -o noexec,mode=755 tmpfs /mnt/bin");
  await computer.ask("mkdir -p /usr/local/bin && mount --bind /mnt/bin /usr/local/bin");
  await computer.ask("mount -o remount,bind,noexec /usr/local/bin");
  await refused("/root/image --aix-install", /programs may not run in \/usr\/local\/bin/);
  await computer.ask("umount /usr/local/bin; umount /mnt/bin");
  await computer.ask(
    "mkdir -p /etc/systemd/system && " +
      "printf '[Service]\\nExecStart=/bin/true\\n' >/etc/systemd/system/machine-server.service",
  );
  await refused("/root/image --aix-install", /there is a service of that name already/);
  await computer.ask("rm /etc/systemd/system/machine-server.service; systemctl daemon-reload");

  const installed = await computer.ask("/root/image --aix-install", env);
  assert.match(installed, /put the machine's credentials into \/etc\/machine\.json/);
  const credentials = JSON.stringify(cloud.credentials);
  await Deno.writeTextFile(computer.path("etc/machine.json"), credentials, { mode: 0o600 });
  await computer.ask("systemctl start machine-server");
  const answers = () =>
    computer.ask(
      "curl -sS --fail --retry 240 --retry-delay 1 --retry-all-errors " +
        `http://127.0.0.1:${serverPort}/restart_status`,
    );
  await answers();
  await untilOnline(cloud.url, cloud.made);
  assert.equal(await computer.ask("systemctl is-enabled machine-server"), "enabled");
  const version = () => computer.ask(`${INSTALLED} --appimage-version`);
  assert.equal(await version(), "Version: 1.0.0");

  assert.match(await computer.ask(`${INSTALLED} --aix-update`), /version 1\.0\.0 is the newest/);
  await publish("1.1.0", SigningKey.read(secretKeyFile(), undefined));
  await refused(
    `${INSTALLED} --aix-update`,
    /the signature is not over this file: .* nothing was changed/,
  );
  await Deno.remove(folder, { recursive: true });
  await publish("1.1.0", key);
  const image = join(folder, imagePath("1.1.0", PLATFORM));
  const whole = await Deno.readFile(image);
  await Deno.writeFile(image, whole.with(whole.length - 40_000, whole.at(-40_000)! ^ 1));
  await refused(`${INSTALLED} --aix-update`, /sha-?256|checksum/i);
  await Deno.writeFile(image, whole.subarray(0, 1_000_000));
  await refused(`${INSTALLED} --aix-update`, /./);
  assert.equal(await version(), "Version: 1.0.0");
  await Deno.writeFile(image, whole);
  const before = await computer.ask("systemctl show -P MainPID machine-server");
  assert.match(await computer.ask(`${INSTALLED} --aix-update`), /is version 1\.1\.0, in place/);
  assert.equal(await version(), "Version: 1.1.0");
  await answers();
  assert.notEqual(await computer.ask("systemctl show -P MainPID machine-server"), before);
  // The old one was in use by the update; the next start removes it.
  await computer.ask(`${INSTALLED} -version`);
  assert.equal(await computer.ask("ls /var/cache/machine-server | wc -l"), "1");
  await Deno.remove(folder, { recursive: true });
  await publish("1.0.0", key);
  assert.match(await computer.ask(`${INSTALLED} --aix-update`), /older than this one/);

  assert.match(await computer.ask(`${INSTALLED} --aix-uninstall`), /\/etc\/machine\.json.* stay/);
  const left = "/etc/systemd/system/machine-server.service /var/cache/machine-server";
  for (const path of [INSTALLED, ...left.split(" ")]) {
    assert.equal((await computer.run(`test -e ${path}`)).code, 1, path);
  }
  assert.match((await computer.run("systemctl is-active machine-server")).stdout, /inactive/);
}

/** A web server of a folder, on loopback. */
function serveFolder(folder: string): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      try {
        const path = join(folder, new URL(request.url).pathname);
        return new Response(await Deno.readFile(path));
      } catch {
        return new Response("not found", { status: 404 });
      }
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

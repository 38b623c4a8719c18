/** `--aix-install`, `--aix-update` and `--aix-uninstall` of an application image. */
import { dirname, join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { runProgram } from "../../shared/base/process/run_program.ts";
import {
  AppImageError,
  type ImageHost,
  placeImage,
  requireRoot,
  type RunningImage,
  runningImage,
} from "./image_facts.ts";
import {
  CACHE,
  CREDENTIALS,
  INSTALLED,
  removeService,
  requireFreeName,
  restartIfActive,
  SETTINGS,
  startService,
  STATE,
  writeService,
} from "./image_service.ts";
import { fetchImage, newestRelease } from "./image_update.ts";

const DOWNLOAD_URL = "MACHINE_DOWNLOAD_URL";

/**
 * Runs one of the three commands.
 *
 * @param command without dashes: `aix-install`
 * @throws {AppImageError | FileError | TransferError} with one line for the operator
 */
export async function runImageCommand(
  command: string,
  variable: (name: string) => string | undefined,
  say: (line: string) => void,
): Promise<void> {
  const host: ImageHost = { root: "/", uid: Deno.uid(), run: runProgram, say };
  const image = await runningImage(variable);
  if (command === "aix-install") await install(image, variable(DOWNLOAD_URL), host);
  else if (command === "aix-update") await update(image, variable(DOWNLOAD_URL), host);
  else await uninstall(host);
}

async function install(
  image: RunningImage,
  downloadUrl: string | undefined,
  host: ImageHost,
): Promise<void> {
  requireRoot(host, "--aix-install");
  await requireFreeName(host);
  const target = join(host.root, INSTALLED);
  if (await Deno.realPath(target).catch(() => undefined) !== image.path) {
    await Deno.mkdir(dirname(target), { recursive: true });
    await placeImage(target, (path) => Deno.copyFile(image.path, path), host.run);
    host.say(`${INSTALLED} is version ${image.label.version}`);
  }
  if (downloadUrl) await keepDownloadUrl(downloadUrl, host);
  await writeService(host);
  await startService(host);
}

async function update(
  image: RunningImage,
  given: string | undefined,
  host: ImageHost,
): Promise<void> {
  const url = given || await keptDownloadUrl(host);
  if (!url) {
    throw new AppImageError(
      `where updates come from is not known: set ${DOWNLOAD_URL} to the address of a download ` +
        `folder, in the environment or in ${SETTINGS}`,
    );
  }
  const { version } = image.label;
  const newest = await newestRelease(url, image.label);
  if (newest.order === 0) return host.say(`version ${version} is the newest in ${url}`);
  if (newest.order < 0) {
    return host.say(
      `${url} has version ${newest.version}, which is older than this one, ${version}: not changed`,
    );
  }
  await placeImage(image.path, (path) => fetchImage(newest, path), host.run);
  host.say(`${image.path} is version ${newest.version}, in place of ${version}`);
  if (image.path !== join(host.root, INSTALLED)) return;
  if (await restartIfActive(host)) host.say("the service was restarted with it");
}

async function uninstall(host: ImageHost): Promise<void> {
  requireRoot(host, "--aix-uninstall");
  if (!await removeService(host)) {
    throw new AppImageError("there is no service that --aix-install made; nothing was changed");
  }
  await removeIfExists(join(host.root, INSTALLED));
  await Deno.remove(join(host.root, CACHE), { recursive: true }).catch(() => undefined);
  host.say(`removed the service and ${INSTALLED}; ${CREDENTIALS}, ${SETTINGS} and ${STATE} stay`);
}

/** Keeps the address for updates, in place of one that was there. */
async function keepDownloadUrl(url: string, { root }: ImageHost): Promise<void> {
  if (/[\s"'\\]/.test(url)) throw new AppImageError(`${DOWNLOAD_URL} is no address`);
  const path = join(root, SETTINGS);
  const before = await readIfExists(path) ?? "";
  const others = before.split("\n").filter((line) =>
    line !== "" && !line.startsWith(`${DOWNLOAD_URL}=`)
  );
  const text = [...others, `${DOWNLOAD_URL}=${url}`].map((line) => `${line}\n`).join("");
  if (text === before) return;
  await Deno.mkdir(dirname(path), { recursive: true });
  await writeFileAtomic(path, text, { mode: 0o644 });
}

async function keptDownloadUrl({ root }: ImageHost): Promise<string | undefined> {
  const settings = await readIfExists(join(root, SETTINGS)) ?? "";
  return new RegExp(`^${DOWNLOAD_URL}="?([^"\\s]+)"?$`, "m").exec(settings)?.[1];
}

import { basename, dirname, join } from "node:path";
import { createHash } from "node:crypto";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { chooseOrganization } from "../../shared/commands/choice/organization.ts";
import { clientOf, type CommandContext } from "../../shared/commands/run/command.ts";
import { sendFile } from "../../shared/commands/upload/send_file.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";

/** What a configuration has under `services` to bring an image to a machine. */
export interface UpdateService {
  readonly name: string;
  readonly api: string;
  readonly model: string;
  readonly attributes: {
    readonly url: string;
    readonly version: string;
    /** Hexadecimal. */
    readonly sha256: string;
    readonly signature?: string;
  };
}

type Info = Omit<UpdateService["attributes"], "url">;

/**
 * Uploads an image as a package of its file's name; the same one that is there already stays.
 *
 * @throws {UsageError} when what is next to the image is of another one; {FileError}; {ConnectError}
 */
export async function publishImage(context: CommandContext, file: string): Promise<UpdateService> {
  const image = await Deno.readFile(file).catch((error) => {
    throw toFileError(error, "read the image", file);
  });
  const info = await readInfo(`${file}.json`);
  if (createHash("sha256").update(image).digest("hex") !== info.sha256) {
    throw new UsageError(`${file}.json is of another image; make the project again`);
  }
  const { id: organizationId } = await chooseOrganization(context);
  const packages = await clientOf(context, PackageService);
  const wanted = { name: basename(file), version: info.version, type: PackageType.ARCHIVE };
  const { packages: there } = await packages.listPackages({ organizationId, ...wanted });
  const [same] = there;
  if (same && same.info?.metadata?.["sha256"] !== info.sha256) {
    throw new UsageError(
      `the cloud has another image ${wanted.name} ${info.version} already; give deno.json a new ` +
        "version and make the project again",
    );
  }
  if (!same) {
    await using archive = await packed(file);
    const value = { organizationId, ...wanted, metadata: { sha256: info.sha256 } };
    await sendFile(archive.path, {
      first: { package: { case: "info" as const, value } },
      piece: (contents) => ({ package: { case: "contents" as const, value: contents } }),
      call: (messages, options) => packages.createPackage(messages, options),
      what: "image",
    }, context);
  }
  const { package: found } = await packages.getPackage({
    ...{ id: `${organizationId}/${wanted.name}`, version: info.version, type: wanted.type },
    includeUrl: true,
  });
  return {
    ...{ name: "firmware", api: "rdk:service:generic", model: "rdk:builtin:ota_service" },
    // Without what opens the link to everybody for a time: machines sign in.
    attributes: { url: (found?.url ?? "").replace(/\?.*$/, ""), ...info },
  };
}

/** The image as packages are: a gzipped tar. */
async function packed(file: string): Promise<AsyncDisposable & { readonly path: string }> {
  const { create } = await import("tar/create");
  const folder = await Deno.makeTempDir({ prefix: "machine-image-" });
  const remove = () => Deno.remove(folder, { recursive: true });
  const path = join(folder, `${basename(file)}.tar.gz`);
  try {
    await create(
      { cwd: dirname(file), file: path, gzip: { level: 9 }, portable: true, noMtime: true },
      [basename(file)],
    );
    return { path, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw toFileError(error, "pack the image", file);
  }
}

async function readInfo(path: string): Promise<Info> {
  const text = await Deno.readTextFile(path).catch((error) => {
    throw toFileError(error, "read what belongs to the image", path);
  });
  try {
    const { version, sha256, signature } = JSON.parse(text) as Record<string, unknown>;
    if (typeof version === "string" && typeof sha256 === "string") {
      return { version, sha256, ...(typeof signature === "string" ? { signature } : {}) };
    }
  } catch {
    // Said below.
  }
  throw new UsageError(`${path} has no version and sha256 as \`make\` writes them`);
}

import { dirname, join } from "node:path";
import { archive } from "../archive.ts";
import { finishBase, finishTools, unpackPackages, USER_ID } from "./debian_root.ts";
import { type Apt, sumOf } from "./apt.ts";
import { type ContainerConfig, type Layer, Layout, type PlatformImage } from "./oci.ts";
import type { ImagePins } from "./pins.ts";

const SECOND = 1e9;
/** Docker's defaults but for the time that a start may take. */
const HEALTH_TIMES = {
  ...{ Interval: 30 * SECOND, Timeout: 10 * SECOND, StartPeriod: 60 * SECOND, Retries: 3 },
};
const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

interface Image {
  readonly name: string;
  readonly title: string;
  /** The program of this project in it; left out: none. */
  readonly program?: string;
  /** Whether programs of others run in it: shell, Python, pip. */
  readonly hasTools: boolean;
  readonly config: Omit<ContainerConfig, "Labels">;
}

/**
 * Runs as a user of its own, and keeps everything in `/data`. A volume for `/credentials` takes
 * over whose that folder is: both programs may write there.
 */
const SERVICE = {
  User: `${USER_ID}:${USER_ID}`,
  WorkingDir: "/data",
  ExposedPorts: { "8080/tcp": {} },
  Volumes: { "/data": {} },
} as const;

/** The server's own answer to callers on its host, by the shell's own means. */
const SERVER_HEALTH = "exec 3<>/dev/tcp/127.0.0.1/${MACHINE_PORT:-8080} && " +
  "printf 'GET /restart_status HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && " +
  'read -t 5 -r _ code _ <&3 && [ "$code" = 200 ]';

export const IMAGES: readonly Image[] = [
  {
    name: "machine-cloud",
    title: "Control plane for a fleet of machines",
    program: "machine-cloud",
    hasTools: false,
    config: {
      ...SERVICE,
      Env: [PATH, "HOME=/data", "MACHINE_CLOUD_DATA=/data"],
      Entrypoint: ["/usr/bin/machine-cloud"],
      // Training takes Python or an engine of containers; neither is in here.
      Cmd: ["serve", "--listen", ":8080", "--training-jobs", "0"],
      Healthcheck: { Test: ["CMD", "/usr/bin/machine-cloud", "health"], ...HEALTH_TIMES },
    },
  },
  {
    name: "machine-server",
    title: "Runs one machine's resources, modules, data and logs",
    program: "machine-server",
    hasTools: true,
    config: {
      ...SERVICE,
      Env: [PATH, "HOME=/data", "MACHINE_HOME=/data", "LANG=C.UTF-8"],
      Entrypoint: ["/usr/bin/machine-server"],
      Cmd: ["-config", "/credentials/machine.json"],
      Healthcheck: { Test: ["CMD", "/bin/bash", "-c", SERVER_HEALTH], ...HEALTH_TIMES },
    },
  },
  {
    name: "machine-training",
    title: "Python with pip, for training scripts",
    hasTools: true,
    // The cloud says what is run, and as whom.
    config: {
      Env: [
        ...[PATH, "LANG=C.UTF-8", "PIP_ROOT_USER_ACTION=ignore"],
        "PIP_DISABLE_PIP_VERSION_CHECK=1",
      ],
      Cmd: ["/bin/bash"],
    },
  },
];

export interface ImageOptions {
  readonly version: string;
  readonly commit: string;
  /** The commit's. */
  readonly time: Date;
  readonly pins: ImagePins;
  readonly apt: Apt;
  /** `amd64`, `arm64`: those that go in. */
  readonly architectures: readonly string[];
  /** Path of a compiled program for Linux on a processor. */
  readonly binaryOf: (program: string, architecture: string) => string;
  /** An empty folder on the same file system. */
  readonly work: string;
}

/**
 * Makes all images.
 *
 * @param folder gets an archive of each, `machine-cloud_1.2.3.oci.tar`, in the OCI's image layout
 * @returns their paths
 * @throws {Error} when a package is not the pinned one or cannot be had
 */
export async function makeImages(folder: string, options: ImageOptions): Promise<string[]> {
  const shared = new Layout(join(options.work, "shared"));
  const debian = new Map<string, DebianLayers>();
  for (const architecture of options.architectures) {
    debian.set(architecture, await debianLayers(shared, architecture, options));
  }
  await Deno.mkdir(folder, { recursive: true });
  const made = [];
  for (const image of IMAGES) {
    const place = join(options.work, image.name);
    const layout = new Layout(place);
    const platforms: PlatformImage[] = [];
    for (const [architecture, { base, tools }] of debian) {
      const layers = [await layout.take(base, shared)];
      if (image.hasTools) layers.push(await layout.take(tools, shared));
      if (image.program !== undefined) {
        layers.push(await programLayer(layout, image.program, architecture, options));
      }
      const config = { ...image.config, Labels: labelsOf(image, options) };
      platforms.push({ architecture, layers, config });
    }
    await layout.finish(`localhost/${image.name}:${options.version}`, platforms, options.time);
    const path = join(folder, `${image.name}_${options.version}.oci.tar`);
    await archive(place, `${path}.new`, { time: options.time, gzip: false });
    await Deno.rename(`${path}.new`, path);
    await Deno.remove(place, { recursive: true });
    made.push(path);
  }
  return made;
}

interface DebianLayers {
  readonly base: Layer;
  readonly tools: Layer;
}

async function debianLayers(
  layout: Layout,
  architecture: string,
  { pins, apt, work }: ImageOptions,
): Promise<DebianLayers> {
  const unpack = async (layer: "base" | "tools", finish: (root: string) => Promise<void>) => {
    const wanted = pins.packages.filter((each) =>
      each.layer === layer && each.architecture === architecture
    );
    const files = await apt.download(architecture, wanted);
    for (const [at, file] of files.entries()) {
      const sum = await sumOf(file);
      const { name, sha256 } = wanted[at]!;
      if (sum === sha256) continue;
      throw new Error(`${file} is not the pinned ${name}: its SHA-256 is ${sum}, not ${sha256}`);
    }
    const root = join(work, `${layer}-${architecture}`);
    await Deno.mkdir(root);
    await Deno.chmod(root, 0o755);
    await unpackPackages(files, root);
    await finish(root);
    return await layout.addLayer(root, `Debian 12, ${layer}`, {
      ...{ time: pins.time, special: { "./tmp": { id: 0, mode: 0o1777 } } },
    });
  };
  return { base: await unpack("base", finishBase), tools: await unpack("tools", finishTools) };
}

async function programLayer(
  layout: Layout,
  program: string,
  architecture: string,
  { binaryOf, work, time }: ImageOptions,
): Promise<Layer> {
  const root = await Deno.makeTempDir({ dir: work });
  const target = join(root, "usr", "bin", program);
  await Deno.mkdir(dirname(target), { recursive: true });
  await Deno.copyFile(binaryOf(program, architecture), target);
  await Deno.chmod(target, 0o755);
  for (const path of ["data", "credentials"]) await Deno.mkdir(join(root, path));
  await Deno.mkdir(join(root, "tmp"));
  for (const path of ["", "usr", "usr/bin"]) await Deno.chmod(join(root, path), 0o755);
  const special = {
    "./data": { id: USER_ID, mode: 0o700 },
    "./credentials": { id: USER_ID, mode: 0o700 },
    "./tmp": { id: 0, mode: 0o1777 },
  };
  const layer = await layout.addLayer(root, program, { time, special });
  await Deno.remove(root, { recursive: true });
  return layer;
}

function labelsOf({ name, title }: Image, { version, commit, time }: ImageOptions) {
  return {
    "org.opencontainers.image.title": name,
    "org.opencontainers.image.description": title,
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": commit,
    "org.opencontainers.image.created": time.toISOString().replace(/\.\d+Z$/, "Z"),
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
}

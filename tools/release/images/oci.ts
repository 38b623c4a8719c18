import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { archive, type ArchiveOptions } from "../archive.ts";

/** Media types of the OCI image specification 1.1. */
const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const CONFIG = "application/vnd.oci.image.config.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** A layer in a layout. */
export interface Layer extends Descriptor {
  /** Digest of the archive before it was compressed. */
  readonly diffId: string;
  /** What made it, for who looks at the history. */
  readonly origin: string;
}

/** How a container is started, as Docker and the OCI write it. */
export interface ContainerConfig {
  readonly User?: string;
  readonly Env: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
  /** Docker's; the OCI has no such field, and others look past it. Times are nanoseconds. */
  readonly Healthcheck?: {
    readonly Test: readonly string[];
    readonly Interval: number;
    readonly Timeout: number;
    readonly StartPeriod: number;
    readonly Retries: number;
  };
}

/** One image for one processor. */
export interface PlatformImage {
  /** `amd64` */
  readonly architecture: string;
  readonly layers: readonly Layer[];
  readonly config: ContainerConfig;
}

/** A folder in the OCI's image layout. */
export class Layout {
  constructor(private readonly folder: string) {}

  /** Adds what is in a folder. @param time of all files in it */
  async addLayer(
    root: string,
    origin: string,
    options: Omit<ArchiveOptions, "gzip">,
  ): Promise<Layer> {
    await this.#makeFolders();
    const plain = join(this.folder, "layer.tar");
    const packed = join(this.folder, "layer.tar.gz");
    await archive(root, plain, { ...options, gzip: false });
    await pipeline(createReadStream(plain), createGzip({ level: 6 }), createWriteStream(packed));
    const diffId = `sha256:${await sha256Of(plain)}`;
    const digest = await sha256Of(packed);
    const { size } = await Deno.stat(packed);
    await Deno.rename(packed, join(this.folder, "blobs", "sha256", digest));
    await Deno.remove(plain);
    return { mediaType: LAYER, digest: `sha256:${digest}`, size, diffId, origin };
  }

  /** Takes over a layer of another layout on the same file system. */
  async take(layer: Layer, from: Layout): Promise<Layer> {
    await this.#makeFolders();
    await Deno.link(from.#blob(layer), this.#blob(layer)).catch((error) => {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    });
    return layer;
  }

  /** Writes what names the images: one for all processors, under a name such as `localhost/machine-cloud:1.2.3`. */
  async finish(name: string, images: readonly PlatformImage[], created: Date): Promise<void> {
    const manifests = [];
    for (const { architecture, layers, config } of images) {
      const platform = { architecture, os: "linux" };
      const configBlob = await this.#addJson(CONFIG, {
        ...{ created: stamp(created), ...platform, config },
        rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
        history: layers.map(({ origin }) => ({ created: stamp(created), created_by: origin })),
      });
      const manifest = await this.#addJson(MANIFEST, {
        ...{ schemaVersion: 2, mediaType: MANIFEST, config: configBlob },
        layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
        annotations: config.Labels,
      });
      manifests.push({ ...manifest, platform });
    }
    const index = await this.#addJson(INDEX, { schemaVersion: 2, mediaType: INDEX, manifests });
    const annotations = {
      "org.opencontainers.image.ref.name": name,
      // Where Docker and podman read it.
      "io.containerd.image.name": name,
    };
    const top = { schemaVersion: 2, mediaType: INDEX, manifests: [{ ...index, annotations }] };
    await Deno.writeTextFile(join(this.folder, "index.json"), JSON.stringify(top));
    await Deno.writeTextFile(join(this.folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  }

  async #addJson(mediaType: string, value: object): Promise<Descriptor> {
    await this.#makeFolders();
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const digest = createHash("sha256").update(bytes).digest("hex");
    await Deno.writeFile(join(this.folder, "blobs", "sha256", digest), bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  }

  #blob({ digest }: Descriptor): string {
    return join(this.folder, "blobs", ...digest.split(":"));
  }

  async #makeFolders(): Promise<void> {
    await Deno.mkdir(join(this.folder, "blobs", "sha256"), { recursive: true });
  }
}

const stamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, "Z");

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array);
  return hash.digest("hex");
}

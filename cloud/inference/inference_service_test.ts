import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Code } from "@connectrpc/connect";
import { encode } from "fast-png";
import jpeg from "jpeg-js";
import { Header } from "tar";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { MLInferenceService } from "../../shared/gen/viam/app/mlinference/v1/ml_inference_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { NOON, uploadImage } from "../data/ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../serve/cloud_testing.ts";

const MODELS = new URL("../../tests/training/tflite_model/", import.meta.url);
const RED = [255, 0, 0] as const;
const GRAY = [90, 90, 90] as const;

/** An image whose upper left quarter has one colour, and the rest another. */
function pixels(side: number, corner: readonly number[], rest: readonly number[], alpha: boolean) {
  return Uint8Array.from({ length: side * side }).map((_, n) => n).reduce<number[]>((all, _, n) => {
    const isCorner = n % side < side / 2 && n < side * side / 2;
    all.push(...(isCorner ? corner : rest), ...(alpha ? [255] : []));
    return all;
  }, []);
}

const png = (side: number, corner: readonly number[], rest: readonly number[]) =>
  encode({
    width: side,
    height: side,
    channels: 3,
    data: Uint8Array.from(pixels(side, corner, rest, false)),
  });
const jpg = (side: number, corner: readonly number[], rest: readonly number[]) => {
  const data = Uint8Array.from(pixels(side, corner, rest, true));
  return new Uint8Array(jpeg.encode({ width: side, height: side, data }, 95).data);
};

/** A tar.gz of files. */
async function packed(
  files: Readonly<Record<string, Uint8Array>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (const [path, bytes] of Object.entries(files)) {
    const block = Buffer.alloc(512);
    new Header({ path, size: bytes.length, type: "File", mode: 0o644 }).encode(block);
    pieces.push(new Uint8Array(block), new Uint8Array(bytes), new Uint8Array(-bytes.length & 511));
  }
  pieces.push(new Uint8Array(1_024));
  const stream = new Blob(pieces).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function opened() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const organizationId = made.org_id;
  const packages = cloud.client(PackageService, apiKey(made));
  const sync = cloud.client(DataSyncService, partSecret(made));
  let images = 0;
  return {
    cloud,
    made,
    organizationId,
    client: cloud.client(MLInferenceService, apiKey(made)),
    async model(name: string, files: Readonly<Record<string, Uint8Array>>): Promise<string> {
      const contents = await packed(files);
      await packages.createPackage((async function* () {
        yield await Promise.resolve({
          package: {
            case: "info" as const,
            value: { organizationId, name, version: "1", type: PackageType.ML_MODEL },
          },
        });
        yield { package: { case: "contents" as const, value: contents } };
      })());
      return `${organizationId}:${name}`;
    },
    image: (bytes: Uint8Array, fileExtension = ".png") =>
      uploadImage(sync, made.part_id, NOON + images++, bytes, { fileExtension }),
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}

const read = (name: string) => Deno.readFile(new URL(name, MODELS));
const text = (lines: string) => new TextEncoder().encode(lines);

Deno.test("GetInference() gives tensors, classes and boxes of images of any size and form", async () => {
  await using it = await opened();
  const { client, organizationId } = it;
  const colours = await it.model("colours", {
    "colour.tflite": await read("colour.tflite"),
    "labels.txt": text("red\ngreen\nblue\n"),
  });
  const boxes = await it.model("boxes", {
    "model/box.tflite": await read("box.tflite"),
    "model/labels.txt": text("0 apple\n"),
  });
  const ask = async (registryItemId: string, binaryDataId: string) =>
    await client.getInference({
      ...{ organizationId, registryItemId, registryItemVersion: "1", binaryDataId },
    });

  const red = await ask(colours, await it.image(png(16, RED, RED)));
  const [best] = red.annotations?.classifications ?? [];
  assert.equal(best?.label, "red");
  assert.ok((best?.confidence ?? 0) > 0.9);
  const { probability } = red.outputTensors?.tensors ?? {};
  assert.deepEqual(probability?.shape, [1n, 3n]);
  assert.equal(probability?.tensor.case, "floatTensor");

  const found = await ask(boxes, await it.image(jpg(64, RED, GRAY), ".jpeg"));
  const [box, ...others] = found.annotations?.bboxes ?? [];
  assert.deepEqual([others.length, box?.label, box?.confidence], [0, "apple", 0.75]);
  assert.deepEqual([box?.xMinNormalized, box?.yMinNormalized], [0, 0]);
  assert.ok(Math.abs((box?.xMaxNormalized ?? 0) - 0.5) < 0.1);
  assert.deepEqual(
    (await ask(boxes, await it.image(png(32, GRAY, GRAY)))).annotations?.bboxes,
    [],
  );
});

Deno.test("GetInference() says what is wrong with a model or an image, and shows nobody's", async () => {
  await using it = await opened();
  const { cloud, client, organizationId } = it;
  const none = await it.model("none", { "weights.bin": new Uint8Array(10) });
  const broken = await it.model("broken", { "x.tflite": new Uint8Array(1_000).fill(7) });
  const colours = await it.model("colours", { "colour.tflite": await read("colour.tflite") });
  const { moduleId } = await cloud.client(AppService, apiKey(it.made))
    .createModule({ name: "arms", organizationId });
  const image = await it.image(png(16, RED, RED));
  const letter = await it.image(text("Dear all"), ".txt");
  const cut = await it.image(jpg(64, RED, GRAY).subarray(0, 300), ".jpeg");
  const huge = png(4, RED, RED);
  new DataView(huge.buffer, huge.byteOffset).setUint32(16, 4_000_000_000);
  const bomb = await it.image(huge);
  const cases: [model: string, image: string, code: Code, message: RegExp][] = [
    [none, image, Code.InvalidArgument, /no file that ends in \.tflite/],
    [broken, image, Code.InvalidArgument, /the model cannot be/],
    [colours, letter, Code.InvalidArgument, /neither JPEG nor PNG/],
    [colours, cut, Code.InvalidArgument, /the image cannot be decoded/],
    [colours, bomb, Code.InvalidArgument, /the image cannot be decoded: .*too large/],
    [moduleId, image, Code.InvalidArgument, /is a module, not an ml_model/],
    [`${organizationId}:absent`, image, Code.NotFound, /no registry item/],
    [colours, "", Code.InvalidArgument, /binary_data_id: it is missing/],
    [colours, crypto.randomUUID(), Code.NotFound, /no binary data/],
  ];
  for (const [registryItemId, binaryDataId, code, message] of cases) {
    const failed = await failure(client.getInference({
      ...{ organizationId, registryItemId, registryItemVersion: "1", binaryDataId },
    }));
    assert.match(failed.message, message);
    assert.equal(failed.code, code, failed.message);
  }
  const stranger = await cloud.bootstrap({ organization: "Strangers" });
  const asked = { registryItemId: colours, registryItemVersion: "1", binaryDataId: image };
  const theirs = await failure(
    cloud.client(MLInferenceService, apiKey(stranger))
      .getInference({ ...asked, organizationId: stranger.org_id }),
  );
  assert.equal(theirs.code, Code.NotFound);
});

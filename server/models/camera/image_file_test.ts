import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type CameraService,
  GetImagesRequestSchema,
  GetPointCloudRequestSchema,
  GetPropertiesRequestSchema,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { Code, ConnectError } from "@connectrpc/connect";
import { AttributeError } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { jpegBytes, PCD_TEXT, pngBytes } from "./testing.ts";
import { construct, testCall } from "../testing.ts";
import { imageFileModel } from "./image_file_model.ts";

type Camera = Driver<typeof CameraService>;

const build = (attributes: JsonObject) => construct<Camera, unknown>(imageFileModel, attributes);

async function images(camera: Camera, filterSourceNames: string[] = []) {
  const request = create(GetImagesRequestSchema, { filterSourceNames });
  const { images = [], responseMetadata } = await camera.getImages!(request, testCall());
  return { image: images[0]!, responseMetadata };
}

async function width(camera: Camera): Promise<number | undefined> {
  const request = create(GetPropertiesRequestSchema);
  return (await camera.getProperties!(request, testCall())).intrinsicParameters?.widthPx;
}

function test(name: string, run: (folder: string) => Promise<void>): void {
  Deno.test(name, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await run(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

test("imageFileModel() gives the file with its kind and time, as it is now", async (folder) => {
  const path = join(folder, "image");
  await Deno.writeFile(path, pngBytes(20, 10));
  await Deno.utime(path, 1_000_000, 1_700_000_000);
  const camera = await build({ color_image_file_path: path });
  const { image, responseMetadata } = await images(camera, ["color"]);
  assert.equal(image.sourceName, "color");
  assert.equal(image.mimeType, "image/png", "by content, not by name");
  assert.deepEqual(image.image, pngBytes(20, 10));
  const { capturedAt } = responseMetadata!;
  assert.equal(timestampDate(capturedAt as never).getTime(), 1_700_000_000_000);
  const properties = await camera.getProperties!(create(GetPropertiesRequestSchema), testCall());
  assert.deepEqual(properties, {
    supportsPcd: false,
    mimeTypes: ["image/png"],
    intrinsicParameters: { widthPx: 20, heightPx: 10 },
  });
  await Deno.writeFile(path, jpegBytes(8, 8));
  assert.equal((await images(camera)).image.mimeType, "image/jpeg");
});

test("imageFileModel() goes round a folder, and properties take no turn", async (folder) => {
  for (const [name, width] of [["b.JPG", 2], ["a.png", 1], ["c.jpeg", 3]] as const) {
    await Deno.writeFile(
      join(folder, name),
      name === "a.png" ? pngBytes(width, 9) : jpegBytes(width, 9),
    );
  }
  await Deno.writeTextFile(join(folder, "notes.txt"), "no image");
  await Deno.mkdir(join(folder, "d.png"));
  const camera = await build({ color_image_file_path: folder });
  const seen: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    assert.equal(await width(camera), [1, 2, 3, 1][turn], "the size of the next one");
    seen.push((await images(camera)).image.image!.length);
  }
  const lengths = { png: pngBytes(1, 9).length, jpeg: jpegBytes(1, 9).length };
  assert.deepEqual(seen, [lengths.png, lengths.jpeg, lengths.jpeg, lengths.png]);
  await Deno.remove(join(folder, "b.JPG"));
  assert.equal(await width(camera), 3, "the one after a.png now");
});

test("imageFileModel() gives the newest file of a folder", async (folder) => {
  await Deno.writeFile(join(folder, "z.png"), pngBytes(1, 1));
  await Deno.writeFile(join(folder, "a.png"), pngBytes(2, 1));
  await Deno.utime(join(folder, "z.png"), 100, 100);
  await Deno.utime(join(folder, "a.png"), 200, 200);
  const camera = await build({ color_image_file_path: folder, folder_order: "newest" });
  assert.equal(await width(camera), 2);
  await Deno.utime(join(folder, "z.png"), 300, 300);
  assert.equal(await width(camera), 1);
});

test("imageFileModel() gives a point cloud where one is named", async (folder) => {
  const path = join(folder, "cloud.pcd");
  await Deno.writeTextFile(path, PCD_TEXT);
  const camera = await build({ pointcloud_file_path: path });
  const ask = (mimeType: string) =>
    camera.getPointCloud!(create(GetPointCloudRequestSchema, { mimeType }), testCall());
  const { mimeType, pointCloud } = await ask("");
  assert.equal(mimeType, "pointcloud/pcd");
  assert.equal(new TextDecoder().decode(pointCloud), PCD_TEXT);
  await assert.rejects(async () => await ask("pointcloud/las"), /not as "pointcloud\/las"/);
  await assert.rejects(images(camera), hasCode(Code.Unimplemented, /a point cloud only/));
  await Deno.writeTextFile(path, "x y z");
  await assert.rejects(async () => await ask(""), /cloud\.pcd is no PCD file/);
});

test("imageFileModel() refuses sources it has not, and clouds it has not", async (folder) => {
  await Deno.writeFile(join(folder, "a.png"), pngBytes(1, 1));
  const camera = await build({ color_image_file_path: join(folder, "a.png") });
  await assert.rejects(
    images(camera, ["color", "depth"]),
    hasCode(Code.InvalidArgument, /no source "depth"; this camera has "color"/),
  );
  await assert.rejects(
    async () => await camera.getPointCloud!(create(GetPointCloudRequestSchema), testCall()),
    hasCode(Code.Unimplemented, /no point cloud/),
  );
});

test("imageFileModel() says which file or folder cannot be used", async (folder) => {
  await assert.rejects(build({}), (error) => {
    assert(error instanceof AttributeError);
    return error.message.includes("at least one of the two");
  });
  const missing = join(folder, "missing.png");
  await assert.rejects(build({ color_image_file_path: missing }), (error: Error) => {
    assert.equal(error.message, `cannot read ${missing}: it or its folder does not exist (ENOENT)`);
    return true;
  });
  await assert.rejects(
    build({ color_image_file_path: folder, folder_order: "oldest" }),
    /attributes\.folder_order: found "oldest", allowed: one of "cycle", "newest"/,
  );
  if (Deno.build.os !== "windows") {
    await assert.rejects(
      build({ color_image_file_path: "/dev/zero" }),
      /^ImageError: \/dev\/zero is neither a file nor a folder; devices and pipes are not read$/,
    );
  }
  const camera = await build({ color_image_file_path: folder });
  await assert.rejects(images(camera), /has no image: no file that ends in/);
  await Deno.writeTextFile(join(folder, "a.jpg"), "text");
  await assert.rejects(images(camera), /a\.jpg is neither JPEG nor PNG/);
  await Deno.truncate(join(folder, "a.jpg"), 33 * 1024 * 1024);
  await assert.rejects(images(camera), /a\.jpg has 34603008 bytes; at most \d+ can be sent/);
});

function hasCode(code: Code, words: RegExp) {
  return (error: unknown) => {
    assert(error instanceof ConnectError);
    assert.equal(error.code, code);
    assert.match(error.rawMessage, words);
    return true;
  };
}

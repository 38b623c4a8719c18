import {
  AttributeError,
  attributes,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { ImageFileAttributes } from "./image_file_attributes.ts";

/** Model `rdk:builtin:image_file` of `rdk:component:camera`: images and points from files. */
export const imageFileModel: Model<ImageFileAttributes> = {
  api: "rdk:component:camera",
  model: "rdk:builtin:image_file",
  triedWith: "files of all kinds, folders, and files that are no images",
  attributes: attributes<ImageFileAttributes>({
    color_image_file_path: optional(text(
      "A JPEG or PNG file, or a folder with such files. Read again for each image.",
    )),
    folder_order: optional(oneOf(
      ["cycle", "newest"],
      "Of a folder: cycle gives one after the other by name, newest the one written last. " +
        "Default cycle.",
    )),
    pointcloud_file_path: optional(text("A PCD file that GetPointCloud gives out.")),
  }),
  async construct({ attributes }) {
    if (!attributes.color_image_file_path && !attributes.pointcloud_file_path) {
      throw new AttributeError(
        "attributes",
        "no color_image_file_path and no pointcloud_file_path",
        "at least one of the two",
      );
    }
    const { createImageFileCamera } = await import("./image_file_camera.ts");
    return await createImageFileCamera(attributes);
  },
};

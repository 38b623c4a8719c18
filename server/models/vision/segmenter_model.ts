import { attributes, number, optional, text } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import { CAMERA_API } from "./cameras.ts";
import { cameraName } from "./model_vision_model.ts";
import type { SegmenterAttributes } from "./segmenter_attributes.ts";

/** Model `rdk:builtin:detector_3d_segmenter` of `rdk:service:vision`: points of what is detected. */
export function segmenterModel(worker: () => ImageWorker): Model<SegmenterAttributes> {
  return {
    api: "rdk:service:vision",
    model: "rdk:builtin:detector_3d_segmenter",
    triedWith: "points that the fake camera has before its lens; no real depth camera",
    attributes: attributes<SegmenterAttributes>({
      detector_name: text("The vision service that finds boxes."),
      confidence_threshold_pct: optional(number(
        "Boxes that are less likely are left out. Default 0.5.",
        { min: 0, max: 1 },
      )),
      sigma: optional(number(
        "Points whose depth is further from the middle one than so many standard deviations are " +
          "left out. Default 1.25.",
        { min: 0.01 },
      )),
      camera_name: cameraName,
    }),
    dependencies: ({ detector_name, camera_name }) => ({
      required: [detector_name],
      optional: camera_name === undefined ? [] : [camera_name],
    }),
    weakDependencies: [CAMERA_API],
    async construct({ attributes, dependencies }) {
      const { createSegmenter } = await import("./segmenter.ts");
      return createSegmenter(attributes, dependencies, worker());
    },
  };
}

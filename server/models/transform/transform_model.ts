import {
  AttributeError,
  attributes,
  boolean,
  integer,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import {
  type DistortionParameters,
  type IntrinsicParameters,
  type PipelineStep,
  STEP_TYPES,
  type StepAttributes,
  type TransformAttributes,
} from "./transform_attributes.ts";
import { pipelineOf } from "./pipeline.ts";

const WIDEST_PX = 8_192;
const MOST_STEPS = 20;

const lens = (description: string) =>
  optional(objectOf<IntrinsicParameters>({
    width_px: integer("Width of the image.", { min: 1 }),
    height_px: integer("Height of the image.", { min: 1 }),
    fx: number("Focal length across, in pixels."),
    fy: number("Focal length down, in pixels."),
    ppx: number("Middle of the lens across, in pixels."),
    ppy: number("Middle of the lens down, in pixels."),
  }, description));

const distortion = (description: string) =>
  optional(objectOf<DistortionParameters>({
    rk1: optional(number("First radial coefficient. Default 0.")),
    rk2: optional(number("Second radial coefficient. Default 0.")),
    rk3: optional(number("Third radial coefficient. Default 0.")),
    tp1: optional(number("First tangential coefficient. Default 0.")),
    tp2: optional(number("Second tangential coefficient. Default 0.")),
  }, description));

const side = (description: string) => optional(integer(description, { min: 1, max: WIDEST_PX }));
const edge = (description: string) => optional(integer(description, { min: 0, max: WIDEST_PX }));

/** Model `rdk:builtin:transform` of `rdk:component:camera`: another camera's images, changed. */
export function transformModel(worker: () => ImageWorker): Model<TransformAttributes> {
  return {
    api: "rdk:component:camera",
    model: "rdk:builtin:transform",
    triedWith: "images of the tests, and detections of a vision service",
    attributes: attributes<TransformAttributes>({
      source: text("The camera whose images are changed."),
      pipeline: listOf(
        objectOf<PipelineStep>({
          type: oneOf(
            STEP_TYPES,
            "What is done. depth_edges and depth_preprocess are refused: no model does them.",
          ),
          attributes: optional(objectOf<StepAttributes>({
            width_px: side("Of resize: the new width."),
            height_px: side("Of resize: the new height."),
            x_min_px: edge("Of crop: the left edge. Default 0."),
            y_min_px: edge("Of crop: the upper edge. Default 0."),
            x_max_px: edge("Of crop: the right edge."),
            y_max_px: edge("Of crop: the lower edge."),
            overlay_crop_box: optional(boolean(
              "Of crop: true draws the box and cuts nothing off. Default false.",
            )),
            angle_degs: optional(number("Of rotate: degrees, clockwise. Default 180.")),
            detector_name: optional(text("Of detections: the vision service that finds boxes.")),
            classifier_name: optional(text("Of classifications: the vision service.")),
            confidence_threshold: optional(number(
              "Of detections and classifications: what is less likely is not drawn. Default 0.",
              { min: 0, max: 1 },
            )),
            max_classifications: optional(integer(
              "Of classifications: as many lines. Default 1.",
              { min: 1, max: 20 },
            )),
            valid_labels: optional(listOf(
              text("A label."),
              "Of detections and classifications: nothing else is drawn. Default: all labels.",
            )),
            intrinsic_parameters: lens(
              "Of undistort: the lens. Default: that of the camera. Of overlay without effect: " +
                "both images must have one size.",
            ),
            distortion_parameters: distortion(
              "Of undistort: how the lens bends. Default: that of the camera.",
            ),
          }, "What the step needs.")),
        }, "A step."),
        `What is done with each image, in this order; at most ${MOST_STEPS} steps.`,
      ),
      intrinsic_parameters: lens("The lens that GetProperties reports. Default: the size alone."),
      distortion_parameters: distortion("What GetProperties reports. Default: none."),
    }),
    dependencies(attributes) {
      if (attributes.pipeline.length > MOST_STEPS) {
        const found = `${attributes.pipeline.length} steps`;
        throw new AttributeError("attributes.pipeline", found, `at most ${MOST_STEPS}`);
      }
      return { required: [attributes.source, ...pipelineOf(attributes).services] };
    },
    async construct({ attributes, dependencies }) {
      const { TransformCamera } = await import("./transform_camera.ts");
      return new TransformCamera(attributes, dependencies, worker());
    },
  };
}

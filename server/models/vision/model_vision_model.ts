import {
  attributes,
  boolean,
  type Check,
  converted,
  integer,
  listOf,
  mapOf,
  number,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import { CAMERA_API } from "./cameras.ts";
import type { ModelVisionAttributes } from "./model_attributes.ts";

/** Model `rdk:builtin:mlmodel` of `rdk:service:vision`: sees what an mlmodel service finds. */
export function modelVisionModel(worker: () => ImageWorker): Model<ModelVisionAttributes> {
  return {
    api: "rdk:service:vision",
    model: "rdk:builtin:mlmodel",
    triedWith: "trained detectors and classifiers, and the published Python SDK",
    attributes: attributes<ModelVisionAttributes>({
      mlmodel_name: text("The mlmodel service that runs the model."),
      camera_name: cameraName,
      default_minimum_confidence: optional(number(
        "What is less likely is left out. Default 0: all is reported.",
        { min: 0, max: 1 },
      )),
      label_confidences: optional(mapOf(
        number("Least confidence of that label.", { min: 0, max: 1 }),
        "Only these labels are reported, each from its least confidence on; " +
          "default_minimum_confidence counts no more. Default: all labels.",
      )),
      label_path: optional(text(
        "A text with the name of a class in each line. Default: that of the mlmodel service.",
      )),
      remap_input_names: optional(mapOf(
        text("What it is: image."),
        "Names of the model's inputs, each with what it is.",
      )),
      remap_output_names: optional(mapOf(
        text("What it is: location, category, score, count or probability."),
        "Names of the model's outputs, each with what it is. Default: found by name and form.",
      )),
      xmin_ymin_xmax_ymax_order: optional(converted(
        listOf(
          integer("A position, from 0.", { min: 0, max: 3 }),
          "At which of a box's four numbers xMin, yMin, xMax and yMax stand. Default [1, 0, 3, 2].",
        ),
        "the numbers 0 to 3, each once",
        (order) => order.length === 4 && new Set(order).size === 4 ? order : undefined,
      )),
      input_image_mean_value: optional(
        colours("What is subtracted from red, green and blue. Default: nothing."),
      ),
      input_image_std_dev: optional(converted(
        colours("What red, green and blue are divided by. Default: 255, with a mean 1."),
        "three numbers, none of them 0",
        (values) => values.includes(0) ? undefined : values,
      )),
      input_image_bgr: optional(boolean("The model takes blue first. Default false.")),
    }),
    dependencies: ({ mlmodel_name, camera_name }) => ({
      required: [mlmodel_name],
      optional: camera_name === undefined ? [] : [camera_name],
    }),
    weakDependencies: [CAMERA_API],
    async construct({ attributes, dependencies }) {
      const { createModelVision } = await import("./model_vision.ts");
      return await createModelVision(attributes, dependencies, worker());
    },
  };
}

/** The camera of calls that name none. */
export const cameraName = optional(text("The camera of calls that name none. Default: none."));

function colours(description: string): Check<number[]> {
  return converted(
    listOf(number("For a colour from 0 to 255."), description),
    "three numbers, for red, green and blue",
    (values) => values.length === 3 ? values : undefined,
  );
}

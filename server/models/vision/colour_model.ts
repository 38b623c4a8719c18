import {
  attributes,
  converted,
  integer,
  number,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import { CAMERA_API } from "./cameras.ts";
import type { ColourAttributes } from "./colour_attributes.ts";
import { cameraName } from "./model_vision_model.ts";

/** Model `rdk:builtin:color_detector` of `rdk:service:vision`: boxes around areas of a colour. */
export function colourModel(worker: () => ImageWorker): Model<ColourAttributes> {
  return {
    api: "rdk:service:vision",
    model: "rdk:builtin:color_detector",
    triedWith: "drawn images, and the simulated camera",
    attributes: attributes<ColourAttributes>({
      detect_color: converted(
        text("The colour, as #RRGGBB. One without a hue, as gray is, cannot be found."),
        "a colour with a hue, as #RRGGBB",
        (value) => {
          const digits = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(value)?.slice(1);
          const [red = 0, green = 0, blue = 0] = digits?.map((each) => parseInt(each, 16)) ?? [];
          return red === green && green === blue ? undefined : [red, green, blue];
        },
      ),
      hue_tolerance_pct: number("How far a hue may be away, as a share of the circle of hues.", {
        min: 0.0001,
        max: 1,
      }),
      segment_size_px: integer("Smaller areas are left out. Pixels.", { min: 1 }),
      saturation_cutoff_pct: optional(number(
        "Paler pixels are left out. From 0 (white) to 1. Default 0.2.",
        { min: 0, max: 1 },
      )),
      value_cutoff_pct: optional(number(
        "Darker pixels are left out. From 0 (black) to 1. Default 0.3.",
        { min: 0, max: 1 },
      )),
      label: optional(text("What the areas are called. Default: the name of the hue.")),
      camera_name: cameraName,
    }),
    dependencies: ({ camera_name }) => ({
      optional: camera_name === undefined ? [] : [camera_name],
    }),
    weakDependencies: [CAMERA_API],
    async construct({ attributes, dependencies }) {
      const { createColourDetector } = await import("./colour_detector.ts");
      return createColourDetector(attributes, dependencies, worker());
    },
  };
}

import type { Resource } from "../../resources/graph/resource.ts";
import { hsvOf, hueName } from "../image_processing/hue.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import { Cameras } from "./cameras.ts";
import type { ColourAttributes } from "./colour_attributes.ts";
import { VisionDriver } from "./vision_service.ts";

/** Most boxes of one image. */
const MOST_AREAS = 100;

/** A driver that puts boxes around areas of one colour; it is always sure of them. */
export function createColourDetector(
  attributes: ColourAttributes,
  dependencies: ReadonlyMap<string, Resource>,
  worker: ImageWorker,
): VisionDriver {
  const [red = 0, green = 0, blue = 0] = attributes.detect_color;
  const [hue] = hsvOf(red, green, blue);
  const label = attributes.label ?? hueName(hue);
  const sought = {
    hue,
    tolerance: attributes.hue_tolerance_pct,
    leastSaturation: attributes.saturation_cutoff_pct ?? 0.2,
    leastValue: attributes.value_cutoff_pct ?? 0.3,
    leastPixels: attributes.segment_size_px,
    most: MOST_AREAS,
  };
  const sight = {
    what: "a colour detector",
    detect: async (image: Uint8Array, { signal }: { readonly signal: AbortSignal }) => {
      const { width, height, areas } = await worker.colours(image, sought, signal);
      const boxes = areas.map(({ xMin, yMin, xMax, yMax }) => ({
        ...{ label, confidence: 1, xMin: xMin / width, yMin: yMin / height },
        ...{ xMax: xMax / width, yMax: yMax / height },
      }));
      return { width, height, boxes };
    },
  };
  return new VisionDriver(() => sight, new Cameras(dependencies, attributes.camera_name ?? ""));
}

import { AttributeError } from "../../resources/graph/attributes.ts";
import type { ImageStep } from "../image_processing/image_steps.ts";
import type {
  DistortionParameters,
  IntrinsicParameters,
  PipelineStep,
  StepAttributes,
  TransformAttributes,
} from "./transform_attributes.ts";

/** Steps that are done at once, or what is requested of a vision service between them. */
export type Stage =
  | { readonly kind: "image"; readonly steps: readonly ImageStep[] }
  | {
    readonly kind: "detections" | "classifications";
    readonly service: string;
    readonly least: number;
    readonly most: number;
    /** Undefined: all. */
    readonly labels: ReadonlySet<string> | undefined;
  };

export interface Pipeline {
  readonly stages: readonly Stage[];
  /** Names of the vision services. */
  readonly services: readonly string[];
  /** What the first step takes. */
  readonly input: "color" | "depth" | "both";
}

const NEEDED = {
  resize: ["width_px", "height_px"],
  crop: ["x_max_px", "y_max_px"],
  detections: ["detector_name"],
  classifications: ["classifier_name"],
} as const;

/** What the attributes mean. @throws {AttributeError} where a step lacks something. */
export function pipelineOf(camera: TransformAttributes): Pipeline {
  const stages: Stage[] = [];
  let input: Pipeline["input"] = "color";
  for (const [index, step] of camera.pipeline.entries()) {
    const path = `attributes.pipeline[${index}]`;
    requireAttributes(step, path);
    if (step.type === "depth_to_pretty" || step.type === "overlay") {
      if (stages.length > 0) {
        throw new AttributeError(`${path}.type`, step.type, "it as the first step: it reads depth");
      }
      input = step.type === "overlay" ? "both" : "depth";
    }
    const stage = stageOf(step, camera, path);
    const last = stages.at(-1);
    if (stage.kind === "image" && last?.kind === "image") {
      stages[stages.length - 1] = { kind: "image", steps: [...last.steps, ...stage.steps] };
    } else stages.push(stage);
  }
  const services = stages.flatMap((stage) => stage.kind === "image" ? [] : [stage.service]);
  return { stages, services: [...new Set(services)], input };
}

function requireAttributes({ type, attributes }: PipelineStep, path: string): void {
  if (type === "depth_edges" || type === "depth_preprocess") {
    throw new AttributeError(`${path}.type`, type, "a step that is done; this one is by no model");
  }
  const needed: readonly (keyof StepAttributes)[] = type in NEEDED
    ? NEEDED[type as keyof typeof NEEDED]
    : [];
  for (const key of needed) {
    if (attributes?.[key] !== undefined) continue;
    throw new AttributeError(`${path}.attributes.${key}`, "nothing", `what ${type} needs`);
  }
}

function stageOf(step: PipelineStep, camera: TransformAttributes, path: string): Stage {
  const attributes: Partial<StepAttributes> = step.attributes ?? {};
  const { confidence_threshold: least = 0, max_classifications: most = 1 } = attributes;
  const labels = attributes.valid_labels && new Set(attributes.valid_labels);
  switch (step.type) {
    case "detections":
      return { kind: "detections", service: attributes.detector_name!, least, most, labels };
    case "classifications":
      return { kind: "classifications", service: attributes.classifier_name!, least, most, labels };
    default:
      return { kind: "image", steps: [imageStep(step.type, attributes, camera, path)] };
  }
}

function imageStep(
  type: PipelineStep["type"],
  attributes: Partial<StepAttributes>,
  camera: TransformAttributes,
  path: string,
): ImageStep {
  switch (type) {
    case "resize":
      return { kind: "resize", width: attributes.width_px!, height: attributes.height_px! };
    case "crop": {
      const { x_min_px: x = 0, y_min_px: y = 0, x_max_px: right, y_max_px: bottom } = attributes;
      if (right! <= x || bottom! <= y) {
        const found = `x ${x} to ${right}, y ${y} to ${bottom}`;
        throw new AttributeError(`${path}.attributes`, found, "edges in rising order");
      }
      const box = { x, y, right: right!, bottom: bottom! };
      return attributes.overlay_crop_box ? { kind: "box", box } : { kind: "crop", box };
    }
    case "rotate":
      return { kind: "rotate", degrees: attributes.angle_degs ?? 180 };
    case "undistort":
      return undistort(
        attributes.intrinsic_parameters ?? camera.intrinsic_parameters,
        attributes.distortion_parameters ?? camera.distortion_parameters,
        `${path}.attributes`,
      );
    case "depth_to_pretty":
      return { kind: "colour_depth" };
    case "overlay":
      return { kind: "overlay_depth" };
    default:
      return { kind: "identity" };
  }
}

function undistort(
  lens: IntrinsicParameters | undefined,
  bent: DistortionParameters | undefined,
  path: string,
): ImageStep {
  if (!lens) throw new AttributeError(`${path}.intrinsic_parameters`, "nothing", "the lens");
  if (!bent) throw new AttributeError(`${path}.distortion_parameters`, "nothing", "how it bends");
  const { fx, fy, ppx, ppy } = lens;
  if (fx === 0 || fy === 0) {
    throw new AttributeError(`${path}.intrinsic_parameters`, "0", "focal lengths that are not 0");
  }
  const { rk1 = 0, rk2 = 0, rk3 = 0, tp1 = 0, tp2 = 0 } = bent;
  return {
    kind: "undistort",
    lens: { fx, fy, ppx, ppy },
    radial: [rk1, rk2, rk3],
    tangential: [tp1, tp2],
  };
}

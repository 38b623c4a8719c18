import type {
  Metadata,
  MLModelService,
} from "../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { create } from "@bufbuild/protobuf";
import {
  FlatTensorSchema,
  InferRequestSchema,
  MetadataRequestSchema,
  MetadataSchema,
} from "../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import {
  type Findings,
  findingsOf,
  findsBoxes,
  findsClasses,
} from "../../../shared/inference/findings.ts";
import { flatTensor, numbersIn } from "../../../shared/inference/flat_tensors.ts";
import { labelsOf } from "../../../shared/inference/labels.ts";
import {
  numbersOver,
  type NumberType,
  type OutputTensor,
} from "../../../shared/inference/tensors.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import { Cameras } from "./cameras.ts";
import type { ModelVisionAttributes } from "./model_attributes.ts";
import { type Sight, VisionDriver } from "./vision_service.ts";

const MODEL_API = "rdk:service:mlmodel";

/** Most boxes of one image. */
const MOST_BOXES = 1_000;

/** What is known of the model. */
interface Known {
  readonly input: { readonly name: string; readonly type: string; readonly shape: number[] };
  readonly labels: readonly string[];
  readonly sight: Sight;
}

type MlModel = Driver<typeof MLModelService>;

/** @throws when label_path cannot be read, or mlmodel_name is no mlmodel service. */
export async function createModelVision(
  attributes: ModelVisionAttributes,
  dependencies: ReadonlyMap<string, Resource>,
  worker: ImageWorker,
): Promise<VisionDriver> {
  const { mlmodel_name: name, label_path: path, camera_name } = attributes;
  const labels = path === undefined ? undefined : await readLabels(path);
  const vision = new ModelVision(attributes, findModel(name, dependencies), worker, labels);
  const cameras = new Cameras(dependencies, camera_name ?? "");
  return new VisionDriver((call) => vision.sight(call), cameras);
}

class ModelVision {
  #known: Known | undefined;

  constructor(
    private readonly attributes: ModelVisionAttributes,
    private readonly model: MlModel,
    private readonly worker: ImageWorker,
    private readonly labels: readonly string[] | undefined,
  ) {}

  async sight(call: CallContext): Promise<Sight> {
    return (await this.#knowledge(call)).sight;
  }

  /** Of the model; requested with the first call, as a module may be slow to answer. */
  async #knowledge(call: CallContext): Promise<Known> {
    if (this.#known) return this.#known;
    const { mlmodel_name: name } = this.attributes;
    const request = create(MetadataRequestSchema, { name });
    const answer = await this.model.metadata?.(request, call);
    const metadata = create(MetadataSchema, answer?.metadata ?? {});
    const outputs = metadata.outputInfo.map((output) => ({
      ...output,
      name: this.#outputName(output.name),
    }));
    const what = `the model of ${name}`;
    this.#known = {
      input: this.#inputOf(metadata),
      labels: this.labels ?? await labelsFrom(metadata),
      sight: {
        what,
        // Of a model without metadata, what it gives shows when it is run.
        ...((outputs.length === 0 || findsBoxes(outputs)) && { detect: this.#detect }),
        ...((outputs.length === 0 || findsClasses(outputs)) && { classify: this.#classify }),
      },
    };
    return this.#known;
  }

  #detect = async (image: Uint8Array, call: CallContext) => {
    const { width, height, found } = await this.#find(image, MOST_BOXES, call);
    const boxes = found.kind === "boxes" ? found.boxes : [];
    return { width, height, boxes: boxes.filter((box) => this.#isLikely(box)) };
  };

  #classify = async (image: Uint8Array, call: CallContext) => {
    const { found } = await this.#find(image, Infinity, call);
    const classes = found.kind === "classes" ? found.classes : [];
    return classes.filter((one) => this.#isLikely(one));
  };

  #isLikely({ label, confidence = 1 }: { readonly label: string; readonly confidence?: number }) {
    const { label_confidences: labels, default_minimum_confidence: least = 0 } = this.attributes;
    if (!labels || Object.keys(labels).length === 0) return confidence >= least;
    const wanted = Object.entries(labels).find(([name]) =>
      name.toLowerCase() === label.toLowerCase()
    );
    return wanted !== undefined && confidence >= wanted[1];
  }

  async #find(
    image: Uint8Array,
    most: number,
    call: CallContext,
  ): Promise<{ width: number; height: number; found: Findings }> {
    const { input, labels } = await this.#knowledge(call);
    const { attributes } = this;
    const { input_image_mean_value: mean, input_image_std_dev: deviation } = attributes;
    const { bytes, width, height, shape } = await this.worker.tensor(image, input, {
      ...(mean && { mean }),
      ...(deviation && { deviation }),
      isBgr: attributes.input_image_bgr ?? false,
    }, call.signal);
    const type = input.type as NumberType;
    const tensor = flatTensor({ type, shape, values: numbersOver(type, bytes) });
    const answer = await this.model.infer?.(
      create(InferRequestSchema, {
        name: attributes.mlmodel_name,
        inputTensors: { tensors: { [input.name]: tensor } },
      }),
      call,
    );
    const outputs: OutputTensor[] = [];
    for (const [name, given] of Object.entries(answer?.outputTensors?.tensors ?? {})) {
      const numbers = numbersIn(create(FlatTensorSchema, given));
      if (numbers) outputs.push({ ...numbers, name: this.#outputName(name) });
    }
    const order = attributes.xmin_ymin_xmax_ymax_order;
    const options = { least: 0, most, ...(order && { boxOrder: order }) };
    return { width, height, found: findingsOf(outputs, labels, options) };
  }

  #outputName(name: string): string {
    return this.attributes.remap_output_names?.[name] ?? name;
  }

  #inputOf({ inputInfo }: Metadata): Known["input"] {
    const { remap_input_names: names = {}, mlmodel_name } = this.attributes;
    const info = inputInfo.find(({ name }) => names[name] === "image" || name === "image") ??
      inputInfo[0];
    if (!info) {
      throw new Error(`${mlmodel_name} names no input in its metadata, so nothing can be given it`);
    }
    return { name: info.name, type: info.dataType.toLowerCase(), shape: [...info.shape] };
  }
}

function findModel(name: string, dependencies: ReadonlyMap<string, Resource>): MlModel {
  const found = dependencyNamed(MODEL_API, name, dependencies);
  if (found) return found;
  throw new Error(
    `attributes.mlmodel_name: ${name} is no mlmodel service; name one, for example of model ` +
      "rdk:builtin:tflite_cpu",
  );
}

async function readLabels(path: string): Promise<string[]> {
  try {
    return labelsOf(await Deno.readFile(path));
  } catch {
    throw new Error(
      `attributes.label_path: ${path} cannot be read; name a text with a class in each line`,
    );
  }
}

/** The file that the model's service names; it may be one of another host, and then not here. */
async function labelsFrom({ outputInfo }: Metadata): Promise<string[]> {
  for (const { extra, associatedFiles } of outputInfo) {
    const path = extra?.["labels"] ?? associatedFiles[0]?.name;
    if (typeof path !== "string" || path === "") continue;
    try {
      return labelsOf(await Deno.readFile(path));
    } catch {
      return [];
    }
  }
  return [];
}

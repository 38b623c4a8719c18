import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { JobRefusedError } from "../../../shared/base/process/job_child.ts";
import {
  type FlatTensor,
  type InferRequest,
  LabelType,
  type MLModelService,
  type TensorInfoSchema,
} from "../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { findsBoxes, findsClasses } from "../../../shared/inference/findings.ts";
import { flatTensor, numbersIn } from "../../../shared/inference/flat_tensors.ts";
import type { TensorDetails } from "../../../shared/inference/tensors.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { type BuiltinEnvironment, subprocessOf } from "../environment.ts";
import { INFERENCE_PROCESS } from "../process_names.ts";
import type { MlModelAttributes } from "./ml_model_attributes.ts";
import { RunningModel } from "./running_model.ts";

/** @throws {ModelFileError} when the file is not there or no model; {@link Deno.errors}. */
export async function createMlModel(
  { model_path: path, label_path: labels }: MlModelAttributes,
  environment: Pick<BuiltinEnvironment, "clock" | "subprocess">,
): Promise<MlModel> {
  if (labels !== undefined) await requireLabels(labels);
  const program = subprocessOf(environment, INFERENCE_PROCESS);
  const model = await RunningModel.start({ path, program, clock: environment.clock });
  return new MlModel(model, path, labels);
}

async function requireLabels(path: string): Promise<void> {
  try {
    await Deno.readFile(path);
  } catch {
    throw new Error(
      `attributes.label_path: ${path} cannot be read; name a text with a class in each line`,
    );
  }
}

/** A driver over a model that runs. */
export class MlModel implements Driver<typeof MLModelService> {
  constructor(
    private readonly model: RunningModel,
    private readonly path: string,
    private readonly labels: string | undefined,
  ) {}

  async infer({ inputTensors }: Pick<InferRequest, "inputTensors">, { signal }: CallContext) {
    const given = inputTensors?.tensors ?? {};
    const inputs = this.model.details.inputs.map((input, _, all) =>
      bytesFor(input, given[input.name] ?? (all.length === 1 ? onlyOne(given) : undefined), given)
    );
    try {
      const outputs = await this.model.run(inputs, signal);
      const tensors = Object.fromEntries(outputs.map((each) => [each.name, flatTensor(each)]));
      return { outputTensors: { tensors } };
    } catch (error) {
      if (!(error instanceof JobRefusedError)) throw error;
      throw new ConnectError(error.message, Code.InvalidArgument);
    }
  }

  metadata() {
    const { inputs, outputs } = this.model.details;
    const kind = findsBoxes(outputs) ? "detector" : findsClasses(outputs) ? "classifier" : "other";
    const name = this.path.split(/[/\\]/).at(-1)!.replace(/\.tflite$/, "");
    return {
      metadata: {
        name,
        type: `tflite_${kind}`,
        description: "a model of TensorFlow Lite",
        inputInfo: inputs.map((input) => tensorInfo(input, undefined)),
        outputInfo: outputs.map((output, index) =>
          tensorInfo(output, index === 0 ? this.labels : undefined)
        ),
      },
    };
  }

  getStatus(): JsonObject {
    return this.model.state;
  }

  close(): Promise<void> {
    return this.model.close();
  }
}

/** The labels stand with the first output, as vision services of the family look for them. */
function tensorInfo(
  { name, type, shape }: TensorDetails,
  labels: string | undefined,
): MessageInitShape<typeof TensorInfoSchema> {
  return {
    ...{ name, dataType: type, shape: [...shape] },
    ...(labels !== undefined && {
      associatedFiles: [{ name: labels, labelType: LabelType.TENSOR_VALUE }],
      extra: { labels },
    }),
  };
}

function onlyOne(given: Readonly<Record<string, FlatTensor>>): FlatTensor | undefined {
  const all = Object.values(given);
  return all.length === 1 ? all[0] : undefined;
}

function bytesFor(
  { name, type, shape }: TensorDetails,
  tensor: FlatTensor | undefined,
  given: Readonly<Record<string, FlatTensor>>,
): Uint8Array<ArrayBuffer> {
  if (!tensor) {
    const names = Object.keys(given).join(", ") || "none";
    throw wrong(`input_tensors: the model takes ${name} (${type} [${shape}]); given: ${names}`);
  }
  const numbers = numbersIn(tensor);
  if (numbers?.type !== type) {
    const found = numbers?.type ?? tensor.tensor.case?.replace(/Tensor$/, "") ?? "nothing";
    throw wrong(`input_tensors.${name}: holds ${found}, the model takes ${type}`);
  }
  const wanted = shape.reduce((product, size) => product * size, 1);
  if (numbers.values.length !== wanted) {
    throw wrong(
      `input_tensors.${name}: has ${numbers.values.length} numbers in the shape ` +
        `[${numbers.shape}], the model takes ${wanted} in [${shape}]`,
    );
  }
  return numbers.bytes;
}

function wrong(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}

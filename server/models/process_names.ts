/** First argument of the process that runs a model of machine learning; `subprocesses.ts` knows it. */
export const INFERENCE_PROCESS = "inference-process";

/** First argument of the process that works on images; `subprocesses.ts` knows it. */
export const IMAGE_PROCESS = "image-process";

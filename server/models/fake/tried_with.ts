/** `triedWith` of the models that stand for a device: nothing is behind them. */
export const TRIED_WITH =
  "the published Python SDK, or its messages where it has no client for that API";

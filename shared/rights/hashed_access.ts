/**
 * Request metadata of RobotService/Config: the sender learns from `machine.cloud.v1` who may open
 * the machine, as hashes, and wants no secret in clear.
 */
export const TAKES_HASHES_HEADER = "machine-takes-hashes";

/** Methods that machine-micro-server serves or calls; `*` is all but streams. */
export const MICRO_METHODS: Readonly<Record<string, string>> = {
  "proto.rpc.v1.AuthService": "Authenticate",
  "viam.app.v1.RobotService": "Config Log NeedsRestart Certificate",
  "viam.app.datasync.v1.DataSyncService": "DataCaptureUpload",
  "machine.cloud.v1.MachineService": "Watch ReportStatus ListAccessKeys AnswerCalls",
  "viam.robot.v1.RobotService":
    "ResourceNames ResourceRPCSubtypes GetMachineStatus GetVersion StopAll GetOperations GetSessions " +
    "GetCloudMetadata StartSession SendSessionHeartbeat FrameSystemConfig Shutdown",
  "viam.component.board.v1.BoardService": "*",
  "viam.component.sensor.v1.SensorService": "*",
  "viam.component.motor.v1.MotorService": "*",
  "viam.component.servo.v1.ServoService": "*",
  "viam.component.encoder.v1.EncoderService": "*",
  "viam.component.base.v1.BaseService": "*",
  "viam.component.movementsensor.v1.MovementSensorService": "*",
  "viam.component.powersensor.v1.PowerSensorService": "*",
  "viam.component.switch.v1.SwitchService": "*",
  "viam.component.generic.v1.GenericService": "*",
};

/** Fields that the device neither reads nor sends: their messages are not in its tables. */
export const UNUSED_FIELDS: ReadonlySet<string> = new Set([
  ..."remotes processes modules packages overwrite_fragment_status log maintenance jobs tracing"
    .split(" ").map((name) => `viam.app.v1.RobotConfig.${name}`),
  "viam.app.v1.ComponentConfig.frame",
  "viam.app.v1.ComponentConfig.log_configuration",
  "viam.app.v1.ServiceConfig.log_configuration",
  "viam.app.v1.AuthConfig.external_auth_config",
  "viam.app.v1.AuthConfig.users",
  "viam.app.v1.NetworkConfig.traffic_tunnel_endpoints",
  "viam.app.datasync.v1.UploadMetadata.method_parameters",
  "viam.app.datasync.v1.SensorMetadata.annotations",
  "viam.common.v1.GetGeometriesResponse.geometries",
  "viam.robot.v1.FrameSystemConfigRequest.supplemental_transforms",
  "viam.robot.v1.FrameSystemConfigResponse.frame_system_configs",
  "machine.cloud.v1.AccessKey.hash",
  "machine.cloud.v1.ListAccessKeysResponse.part_secrets",
  "machine.cloud.v1.ListAccessKeysResponse.location_secrets",
  "viam.robot.v1.GetMachineStatusResponse.modules",
  "viam.robot.v1.GetMachineStatusResponse.packages",
]);

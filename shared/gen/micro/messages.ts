// Generated from proto/ by make proto: what machine-micro-server uses of it.
/* eslint-disable */

export type Json = string | number | boolean | null | undefined | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** Fields by message: number, name and type, as micro/core/proto/fields.ts reads them. */
export const MESSAGES = {
  "machine.cloud.v1.AccessChanged": "",
  "machine.cloud.v1.AccessKey": "1 id s;3 role e machine.cloud.v1.KeyRole",
  "machine.cloud.v1.AnswerCallsRequest": "1 partId s;2 answers *m machine.cloud.v1.CallAnswer",
  "machine.cloud.v1.AnswerCallsResponse": "",
  "machine.cloud.v1.CallAnswer": "1 id u;2 response y;3 code i;4 message s",
  "machine.cloud.v1.ConfigChanged": "1 revision s",
  "machine.cloud.v1.Keepalive": "1 revision s",
  "machine.cloud.v1.ListAccessKeysRequest": "1 partId s",
  "machine.cloud.v1.ListAccessKeysResponse": "1 keys *m machine.cloud.v1.AccessKey",
  "machine.cloud.v1.LiveRequested": "1 duration ?D",
  "machine.cloud.v1.RelayedCall": "1 id u;2 method s;3 request y;4 caller s;5 role e machine.cloud.v1.KeyRole;6 sessionId s",
  "machine.cloud.v1.ReportStatusRequest": "1 partId s;2 status ?m viam.robot.v1.GetMachineStatusResponse;3 configError s;4 readings *m machine.cloud.v1.ResourceReadings",
  "machine.cloud.v1.ReportStatusResponse": "",
  "machine.cloud.v1.ResourceReadings": "1 name s;2 readings ?S;3 error s",
  "machine.cloud.v1.RestartRequested": "",
  "machine.cloud.v1.WatchRequest": "1 partId s;2 takesCalls b",
  "machine.cloud.v1.WatchResponse": "1 keepalive ?m machine.cloud.v1.Keepalive;2 configChanged ?m machine.cloud.v1.ConfigChanged;3 accessChanged ?m machine.cloud.v1.AccessChanged;4 liveRequested ?m machine.cloud.v1.LiveRequested;5 restartRequested ?m machine.cloud.v1.RestartRequested;6 relayedCall ?m machine.cloud.v1.RelayedCall",
  "proto.rpc.v1.AuthenticateRequest": "1 entity s;2 credentials ?m proto.rpc.v1.Credentials",
  "proto.rpc.v1.AuthenticateResponse": "1 accessToken s",
  "proto.rpc.v1.Credentials": "1 type s;2 payload s",
  "viam.app.datasync.v1.DataCaptureUploadRequest": "1 metadata ?m viam.app.datasync.v1.UploadMetadata;2 sensorContents *m viam.app.datasync.v1.SensorData",
  "viam.app.datasync.v1.DataCaptureUploadResponse": "1 fileId s;2 binaryDataId s",
  "viam.app.datasync.v1.SensorData": "1 metadata ?m viam.app.datasync.v1.SensorMetadata;2 struct ?S;3 binary ?y",
  "viam.app.datasync.v1.SensorMetadata": "1 timeRequested ?T;2 timeReceived ?T",
  "viam.app.datasync.v1.UploadMetadata": "1 partId s;2 componentType s;3 componentName s;5 methodName s;6 type e viam.app.datasync.v1.DataType;7 fileName s;9 fileExtension s;14 fileCreateTime ?T;15 fileModifyTime ?T;10 tags *s;12 datasetIds *s;13 mimeType s",
  "viam.app.v1.AgentInfo": "1 host s;2 os s;3 ips *s;4 version s;5 gitRevision s;6 platform ?s;7 platformTags *s",
  "viam.app.v1.AuthConfig": "1 handlers *m viam.app.v1.AuthHandlerConfig;2 tlsAuthEntities *s;4 userPermissions *m viam.app.v1.UserPermission",
  "viam.app.v1.AuthHandlerConfig": "1 type e viam.app.v1.CredentialsType;5 config ?S",
  "viam.app.v1.CertificateRequest": "1 id s",
  "viam.app.v1.CertificateResponse": "1 id s;2 tlsCertificate s;3 tlsPrivateKey s",
  "viam.app.v1.CloudConfig": "1 id s;2 fqdn s;3 localFqdn s;4 managedBy s;5 signalingAddress s;6 signalingInsecure b;8 secret s;9 locationSecrets *m viam.app.v1.LocationSecret;10 primaryOrgId s;11 locationId s;12 machineId s",
  "viam.app.v1.ComponentConfig": "1 name s;2 namespace s;3 type s;4 model s;6 dependsOn *s;7 serviceConfigs *m viam.app.v1.ResourceLevelServiceConfig;8 attributes ?S;9 api s",
  "viam.app.v1.ConfigRequest": "1 id s;2 agentInfo ?m viam.app.v1.AgentInfo",
  "viam.app.v1.ConfigResponse": "1 config ?m viam.app.v1.RobotConfig",
  "viam.app.v1.LocationSecret": "1 id s;2 secret s",
  "viam.app.v1.LogRequest": "1 id s;2 logs *m viam.common.v1.LogEntry",
  "viam.app.v1.LogResponse": "",
  "viam.app.v1.NeedsRestartRequest": "1 id s",
  "viam.app.v1.NeedsRestartResponse": "1 id s;2 mustRestart b;3 restartCheckInterval ?D",
  "viam.app.v1.NetworkConfig": "1 fqdn s;2 bindAddress s;3 tlsCertFile s;4 tlsKeyFile s;5 sessions ?m viam.app.v1.SessionsConfig;7 noTls b",
  "viam.app.v1.Permission": "1 resources *s;2 allowedMethods *s",
  "viam.app.v1.ResourceLevelServiceConfig": "1 type s;2 attributes ?S",
  "viam.app.v1.RobotConfig": "1 cloud ?m viam.app.v1.CloudConfig;3 components *m viam.app.v1.ComponentConfig;5 services *m viam.app.v1.ServiceConfig;6 network ?m viam.app.v1.NetworkConfig;7 auth ?m viam.app.v1.AuthConfig;8 debug ?b;10 disablePartialStart ?b;13 enableWebProfile b;15 revision s;17 disableLogDeduplication b",
  "viam.app.v1.ServiceConfig": "1 name s;2 namespace s;3 type s;4 attributes ?S;5 dependsOn *s;6 model s;9 api s;10 serviceConfigs *m viam.app.v1.ResourceLevelServiceConfig",
  "viam.app.v1.SessionsConfig": "1 heartbeatWindow ?D",
  "viam.app.v1.User": "1 type s;2 id s",
  "viam.app.v1.UserPermission": "1 user ?m viam.app.v1.User;2 permissions *m viam.app.v1.Permission",
  "viam.common.v1.DoCommandRequest": "1 name s;2 command ?S",
  "viam.common.v1.DoCommandResponse": "1 result ?S",
  "viam.common.v1.GeoPoint": "1 latitude d;2 longitude d",
  "viam.common.v1.GetGeometriesRequest": "1 name s;99 extra ?S",
  "viam.common.v1.GetGeometriesResponse": "",
  "viam.common.v1.GetReadingsRequest": "1 name s;99 extra ?S",
  "viam.common.v1.GetReadingsResponse": "1 readings %V",
  "viam.common.v1.GetStatusRequest": "1 name s",
  "viam.common.v1.GetStatusResponse": "1 result ?S",
  "viam.common.v1.LogEntry": "1 host s;2 level s;3 time ?T;4 loggerName s;5 message s;6 caller ?S;7 stack s;8 fields *S",
  "viam.common.v1.Orientation": "1 oX d;2 oY d;3 oZ d;4 theta d",
  "viam.common.v1.ResourceName": "1 namespace s;2 type s;3 subtype s;4 name s",
  "viam.common.v1.Vector3": "1 x d;2 y d;3 z d",
  "viam.component.base.v1.GetPropertiesRequest": "1 name s;99 extra ?S",
  "viam.component.base.v1.GetPropertiesResponse": "1 widthMeters d;2 turningRadiusMeters d;3 wheelCircumferenceMeters d",
  "viam.component.base.v1.IsMovingRequest": "1 name s",
  "viam.component.base.v1.IsMovingResponse": "1 isMoving b",
  "viam.component.base.v1.MoveStraightRequest": "1 name s;2 distanceMm l;3 mmPerSec d;99 extra ?S",
  "viam.component.base.v1.MoveStraightResponse": "",
  "viam.component.base.v1.SetPowerRequest": "1 name s;2 linear ?m viam.common.v1.Vector3;3 angular ?m viam.common.v1.Vector3;99 extra ?S",
  "viam.component.base.v1.SetPowerResponse": "",
  "viam.component.base.v1.SetVelocityRequest": "1 name s;2 linear ?m viam.common.v1.Vector3;3 angular ?m viam.common.v1.Vector3;99 extra ?S",
  "viam.component.base.v1.SetVelocityResponse": "",
  "viam.component.base.v1.SpinRequest": "1 name s;2 angleDeg d;3 degsPerSec d;99 extra ?S",
  "viam.component.base.v1.SpinResponse": "",
  "viam.component.base.v1.StopRequest": "1 name s;99 extra ?S",
  "viam.component.base.v1.StopResponse": "",
  "viam.component.board.v1.GetDigitalInterruptValueRequest": "1 boardName s;2 digitalInterruptName s;99 extra ?S",
  "viam.component.board.v1.GetDigitalInterruptValueResponse": "1 value l",
  "viam.component.board.v1.GetGPIORequest": "1 name s;2 pin s;99 extra ?S",
  "viam.component.board.v1.GetGPIOResponse": "1 high b",
  "viam.component.board.v1.PWMFrequencyRequest": "1 name s;2 pin s;99 extra ?S",
  "viam.component.board.v1.PWMFrequencyResponse": "1 frequencyHz U",
  "viam.component.board.v1.PWMRequest": "1 name s;2 pin s;99 extra ?S",
  "viam.component.board.v1.PWMResponse": "1 dutyCyclePct d",
  "viam.component.board.v1.ReadAnalogReaderRequest": "1 boardName s;2 analogReaderName s;99 extra ?S",
  "viam.component.board.v1.ReadAnalogReaderResponse": "1 value i;2 minRange f;3 maxRange f;4 stepSize f",
  "viam.component.board.v1.SetGPIORequest": "1 name s;2 pin s;3 high b;99 extra ?S",
  "viam.component.board.v1.SetGPIOResponse": "",
  "viam.component.board.v1.SetPWMFrequencyRequest": "1 name s;2 pin s;3 frequencyHz U;99 extra ?S",
  "viam.component.board.v1.SetPWMFrequencyResponse": "",
  "viam.component.board.v1.SetPWMRequest": "1 name s;2 pin s;3 dutyCyclePct d;99 extra ?S",
  "viam.component.board.v1.SetPWMResponse": "",
  "viam.component.board.v1.SetPowerModeRequest": "1 name s;2 powerMode e viam.component.board.v1.PowerMode;3 duration ?D;99 extra ?S",
  "viam.component.board.v1.SetPowerModeResponse": "",
  "viam.component.board.v1.WriteAnalogRequest": "1 name s;2 pin s;3 value i;99 extra ?S",
  "viam.component.board.v1.WriteAnalogResponse": "",
  "viam.component.encoder.v1.GetPositionRequest": "1 name s;2 positionType ?e viam.component.encoder.v1.PositionType;99 extra ?S",
  "viam.component.encoder.v1.GetPositionResponse": "1 value f;2 positionType e viam.component.encoder.v1.PositionType",
  "viam.component.encoder.v1.GetPropertiesRequest": "1 name s;99 extra ?S",
  "viam.component.encoder.v1.GetPropertiesResponse": "1 ticksCountSupported b;2 angleDegreesSupported b",
  "viam.component.encoder.v1.ResetPositionRequest": "1 name s;99 extra ?S",
  "viam.component.encoder.v1.ResetPositionResponse": "",
  "viam.component.motor.v1.GetPositionRequest": "1 name s;99 extra ?S",
  "viam.component.motor.v1.GetPositionResponse": "1 position d",
  "viam.component.motor.v1.GetPropertiesRequest": "1 name s;99 extra ?S",
  "viam.component.motor.v1.GetPropertiesResponse": "1 positionReporting b",
  "viam.component.motor.v1.GoForRequest": "1 name s;2 rpm d;3 revolutions d;99 extra ?S",
  "viam.component.motor.v1.GoForResponse": "",
  "viam.component.motor.v1.GoToRequest": "1 name s;2 rpm d;3 positionRevolutions d;99 extra ?S",
  "viam.component.motor.v1.GoToResponse": "",
  "viam.component.motor.v1.IsMovingRequest": "1 name s",
  "viam.component.motor.v1.IsMovingResponse": "1 isMoving b",
  "viam.component.motor.v1.IsPoweredRequest": "1 name s;99 extra ?S",
  "viam.component.motor.v1.IsPoweredResponse": "1 isOn b;2 powerPct d",
  "viam.component.motor.v1.ResetZeroPositionRequest": "1 name s;2 offset d;99 extra ?S",
  "viam.component.motor.v1.ResetZeroPositionResponse": "",
  "viam.component.motor.v1.SetPowerRequest": "1 name s;2 powerPct d;99 extra ?S",
  "viam.component.motor.v1.SetPowerResponse": "",
  "viam.component.motor.v1.SetRPMRequest": "1 name s;2 rpm d;99 extra ?S",
  "viam.component.motor.v1.SetRPMResponse": "",
  "viam.component.motor.v1.StopRequest": "1 name s;99 extra ?S",
  "viam.component.motor.v1.StopResponse": "",
  "viam.component.movementsensor.v1.GetAccuracyRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetAccuracyResponse": "1 accuracy %f;2 positionHdop ?f;3 positionVdop ?f;4 positionNmeaGgaFix ?i;5 compassDegreesError ?f",
  "viam.component.movementsensor.v1.GetAngularVelocityRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetAngularVelocityResponse": "1 angularVelocity ?m viam.common.v1.Vector3",
  "viam.component.movementsensor.v1.GetCompassHeadingRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetCompassHeadingResponse": "1 value d",
  "viam.component.movementsensor.v1.GetLinearAccelerationRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetLinearAccelerationResponse": "1 linearAcceleration ?m viam.common.v1.Vector3",
  "viam.component.movementsensor.v1.GetLinearVelocityRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetLinearVelocityResponse": "1 linearVelocity ?m viam.common.v1.Vector3",
  "viam.component.movementsensor.v1.GetOrientationRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetOrientationResponse": "1 orientation ?m viam.common.v1.Orientation",
  "viam.component.movementsensor.v1.GetPositionRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetPositionResponse": "1 coordinate ?m viam.common.v1.GeoPoint;2 altitudeM f",
  "viam.component.movementsensor.v1.GetPropertiesRequest": "1 name s;99 extra ?S",
  "viam.component.movementsensor.v1.GetPropertiesResponse": "1 linearVelocitySupported b;2 angularVelocitySupported b;3 orientationSupported b;4 positionSupported b;5 compassHeadingSupported b;6 linearAccelerationSupported b",
  "viam.component.powersensor.v1.GetCurrentRequest": "1 name s;99 extra ?S",
  "viam.component.powersensor.v1.GetCurrentResponse": "1 amperes d;2 isAc b",
  "viam.component.powersensor.v1.GetPowerRequest": "1 name s;99 extra ?S",
  "viam.component.powersensor.v1.GetPowerResponse": "1 watts d",
  "viam.component.powersensor.v1.GetVoltageRequest": "1 name s;99 extra ?S",
  "viam.component.powersensor.v1.GetVoltageResponse": "1 volts d;2 isAc b",
  "viam.component.servo.v1.GetPositionRequest": "1 name s;99 extra ?S",
  "viam.component.servo.v1.GetPositionResponse": "1 positionDeg u",
  "viam.component.servo.v1.IsMovingRequest": "1 name s",
  "viam.component.servo.v1.IsMovingResponse": "1 isMoving b",
  "viam.component.servo.v1.MoveRequest": "1 name s;2 angleDeg u;99 extra ?S",
  "viam.component.servo.v1.MoveResponse": "",
  "viam.component.servo.v1.StopRequest": "1 name s;99 extra ?S",
  "viam.component.servo.v1.StopResponse": "",
  "viam.component.switch.v1.GetNumberOfPositionsRequest": "1 name s;99 extra ?S",
  "viam.component.switch.v1.GetNumberOfPositionsResponse": "1 numberOfPositions u;2 labels *s",
  "viam.component.switch.v1.GetPositionRequest": "1 name s;99 extra ?S",
  "viam.component.switch.v1.GetPositionResponse": "1 position u",
  "viam.component.switch.v1.SetPositionRequest": "1 name s;2 position u;99 extra ?S",
  "viam.component.switch.v1.SetPositionResponse": "",
  "viam.robot.v1.ConfigStatus": "1 revision s;2 lastUpdated ?T",
  "viam.robot.v1.FrameSystemConfigRequest": "",
  "viam.robot.v1.FrameSystemConfigResponse": "",
  "viam.robot.v1.GetCloudMetadataRequest": "",
  "viam.robot.v1.GetCloudMetadataResponse": "2 primaryOrgId s;3 locationId s;4 machineId s;5 machinePartId s",
  "viam.robot.v1.GetMachineStatusRequest": "",
  "viam.robot.v1.GetMachineStatusResponse": "1 resources *m viam.robot.v1.ResourceStatus;2 config ?m viam.robot.v1.ConfigStatus;3 state e viam.robot.v1.GetMachineStatusResponse.State;4 jobStatuses *m viam.robot.v1.JobStatus",
  "viam.robot.v1.GetOperationsRequest": "",
  "viam.robot.v1.GetOperationsResponse": "1 operations *m viam.robot.v1.Operation",
  "viam.robot.v1.GetSessionsRequest": "",
  "viam.robot.v1.GetSessionsResponse": "1 sessions *m viam.robot.v1.Session",
  "viam.robot.v1.GetVersionRequest": "",
  "viam.robot.v1.GetVersionResponse": "1 platform s;2 version s;3 apiVersion s",
  "viam.robot.v1.JobStatus": "1 jobName s;2 recentSuccessfulRuns *T;3 recentFailedRuns *T",
  "viam.robot.v1.Operation": "1 id s;2 method s;3 arguments ?S;4 started ?T;5 sessionId ?s",
  "viam.robot.v1.PeerConnectionInfo": "1 type e viam.robot.v1.PeerConnectionType;2 remoteAddress ?s;3 localAddress ?s",
  "viam.robot.v1.ResourceNamesRequest": "",
  "viam.robot.v1.ResourceNamesResponse": "1 resources *m viam.common.v1.ResourceName",
  "viam.robot.v1.ResourceRPCSubtype": "1 subtype ?m viam.common.v1.ResourceName;2 protoService s",
  "viam.robot.v1.ResourceRPCSubtypesRequest": "",
  "viam.robot.v1.ResourceRPCSubtypesResponse": "1 resourceRpcSubtypes *m viam.robot.v1.ResourceRPCSubtype",
  "viam.robot.v1.ResourceStatus": "1 name ?m viam.common.v1.ResourceName;2 state e viam.robot.v1.ResourceStatus.State;3 lastUpdated ?T;4 revision s;5 error s;6 cloudMetadata ?m viam.robot.v1.GetCloudMetadataResponse;7 reachability e viam.robot.v1.ResourceStatus.Reachability;8 remote ?s",
  "viam.robot.v1.SendSessionHeartbeatRequest": "1 id s",
  "viam.robot.v1.SendSessionHeartbeatResponse": "",
  "viam.robot.v1.Session": "1 id s;2 peerConnectionInfo ?m viam.robot.v1.PeerConnectionInfo",
  "viam.robot.v1.ShutdownRequest": "",
  "viam.robot.v1.ShutdownResponse": "",
  "viam.robot.v1.StartSessionRequest": "1 resume s",
  "viam.robot.v1.StartSessionResponse": "1 id s;2 heartbeatWindow ?D",
  "viam.robot.v1.StopAllRequest": "99 extra *m viam.robot.v1.StopExtraParameters",
  "viam.robot.v1.StopAllResponse": "",
  "viam.robot.v1.StopExtraParameters": "1 name ?m viam.common.v1.ResourceName;2 params ?S",
} as const;

/** Names of values by enum, from 0. */
export const ENUMS = {
  "machine.cloud.v1.KeyRole": "KEY_ROLE_UNSPECIFIED,KEY_ROLE_OWNER,KEY_ROLE_OPERATOR",
  "viam.app.datasync.v1.DataType": "DATA_TYPE_UNSPECIFIED,DATA_TYPE_BINARY_SENSOR,DATA_TYPE_TABULAR_SENSOR,DATA_TYPE_FILE",
  "viam.app.v1.CredentialsType": "CREDENTIALS_TYPE_UNSPECIFIED,CREDENTIALS_TYPE_INTERNAL,CREDENTIALS_TYPE_API_KEY,CREDENTIALS_TYPE_ROBOT_SECRET,CREDENTIALS_TYPE_ROBOT_LOCATION_SECRET",
  "viam.component.board.v1.PowerMode": "POWER_MODE_UNSPECIFIED,POWER_MODE_NORMAL,POWER_MODE_OFFLINE_DEEP",
  "viam.component.encoder.v1.PositionType": "POSITION_TYPE_UNSPECIFIED,POSITION_TYPE_TICKS_COUNT,POSITION_TYPE_ANGLE_DEGREES",
  "viam.robot.v1.GetMachineStatusResponse.State": "STATE_UNSPECIFIED,STATE_INITIALIZING,STATE_RUNNING",
  "viam.robot.v1.PeerConnectionType": "PEER_CONNECTION_TYPE_UNSPECIFIED,PEER_CONNECTION_TYPE_GRPC,PEER_CONNECTION_TYPE_WEBRTC",
  "viam.robot.v1.ResourceStatus.Reachability": "REACHABILITY_UNSPECIFIED,REACHABILITY_REACHABLE,REACHABILITY_REMOTE_DISCONNECTED,REACHABILITY_SHADOWED_BY_LOCAL,REACHABILITY_AMBIGUOUS_REMOTE",
  "viam.robot.v1.ResourceStatus.State": "STATE_UNSPECIFIED,STATE_UNCONFIGURED,STATE_CONFIGURING,STATE_READY,STATE_REMOVING,STATE_UNHEALTHY",
} as const;

/** Messages of methods: what they take and what they give; `moves`: the caller's session counts. */
export const METHODS = {
  "/proto.rpc.v1.AuthService/Authenticate": "proto.rpc.v1.AuthenticateRequest proto.rpc.v1.AuthenticateResponse",
  "/viam.app.v1.RobotService/Config": "viam.app.v1.ConfigRequest viam.app.v1.ConfigResponse",
  "/viam.app.v1.RobotService/Log": "viam.app.v1.LogRequest viam.app.v1.LogResponse",
  "/viam.app.v1.RobotService/NeedsRestart": "viam.app.v1.NeedsRestartRequest viam.app.v1.NeedsRestartResponse",
  "/viam.app.v1.RobotService/Certificate": "viam.app.v1.CertificateRequest viam.app.v1.CertificateResponse",
  "/viam.app.datasync.v1.DataSyncService/DataCaptureUpload": "viam.app.datasync.v1.DataCaptureUploadRequest viam.app.datasync.v1.DataCaptureUploadResponse",
  "/machine.cloud.v1.MachineService/Watch": "machine.cloud.v1.WatchRequest machine.cloud.v1.WatchResponse",
  "/machine.cloud.v1.MachineService/ReportStatus": "machine.cloud.v1.ReportStatusRequest machine.cloud.v1.ReportStatusResponse",
  "/machine.cloud.v1.MachineService/ListAccessKeys": "machine.cloud.v1.ListAccessKeysRequest machine.cloud.v1.ListAccessKeysResponse",
  "/machine.cloud.v1.MachineService/AnswerCalls": "machine.cloud.v1.AnswerCallsRequest machine.cloud.v1.AnswerCallsResponse",
  "/viam.robot.v1.RobotService/ResourceNames": "viam.robot.v1.ResourceNamesRequest viam.robot.v1.ResourceNamesResponse",
  "/viam.robot.v1.RobotService/ResourceRPCSubtypes": "viam.robot.v1.ResourceRPCSubtypesRequest viam.robot.v1.ResourceRPCSubtypesResponse",
  "/viam.robot.v1.RobotService/GetMachineStatus": "viam.robot.v1.GetMachineStatusRequest viam.robot.v1.GetMachineStatusResponse",
  "/viam.robot.v1.RobotService/GetVersion": "viam.robot.v1.GetVersionRequest viam.robot.v1.GetVersionResponse",
  "/viam.robot.v1.RobotService/StopAll": "viam.robot.v1.StopAllRequest viam.robot.v1.StopAllResponse",
  "/viam.robot.v1.RobotService/GetOperations": "viam.robot.v1.GetOperationsRequest viam.robot.v1.GetOperationsResponse",
  "/viam.robot.v1.RobotService/GetSessions": "viam.robot.v1.GetSessionsRequest viam.robot.v1.GetSessionsResponse",
  "/viam.robot.v1.RobotService/GetCloudMetadata": "viam.robot.v1.GetCloudMetadataRequest viam.robot.v1.GetCloudMetadataResponse",
  "/viam.robot.v1.RobotService/StartSession": "viam.robot.v1.StartSessionRequest viam.robot.v1.StartSessionResponse",
  "/viam.robot.v1.RobotService/SendSessionHeartbeat": "viam.robot.v1.SendSessionHeartbeatRequest viam.robot.v1.SendSessionHeartbeatResponse",
  "/viam.robot.v1.RobotService/FrameSystemConfig": "viam.robot.v1.FrameSystemConfigRequest viam.robot.v1.FrameSystemConfigResponse",
  "/viam.robot.v1.RobotService/Shutdown": "viam.robot.v1.ShutdownRequest viam.robot.v1.ShutdownResponse",
  "/viam.component.board.v1.BoardService/SetGPIO": "viam.component.board.v1.SetGPIORequest viam.component.board.v1.SetGPIOResponse",
  "/viam.component.board.v1.BoardService/GetGPIO": "viam.component.board.v1.GetGPIORequest viam.component.board.v1.GetGPIOResponse",
  "/viam.component.board.v1.BoardService/PWM": "viam.component.board.v1.PWMRequest viam.component.board.v1.PWMResponse",
  "/viam.component.board.v1.BoardService/SetPWM": "viam.component.board.v1.SetPWMRequest viam.component.board.v1.SetPWMResponse",
  "/viam.component.board.v1.BoardService/PWMFrequency": "viam.component.board.v1.PWMFrequencyRequest viam.component.board.v1.PWMFrequencyResponse",
  "/viam.component.board.v1.BoardService/SetPWMFrequency": "viam.component.board.v1.SetPWMFrequencyRequest viam.component.board.v1.SetPWMFrequencyResponse",
  "/viam.component.board.v1.BoardService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.board.v1.BoardService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.board.v1.BoardService/ReadAnalogReader": "viam.component.board.v1.ReadAnalogReaderRequest viam.component.board.v1.ReadAnalogReaderResponse",
  "/viam.component.board.v1.BoardService/WriteAnalog": "viam.component.board.v1.WriteAnalogRequest viam.component.board.v1.WriteAnalogResponse",
  "/viam.component.board.v1.BoardService/GetDigitalInterruptValue": "viam.component.board.v1.GetDigitalInterruptValueRequest viam.component.board.v1.GetDigitalInterruptValueResponse",
  "/viam.component.board.v1.BoardService/SetPowerMode": "viam.component.board.v1.SetPowerModeRequest viam.component.board.v1.SetPowerModeResponse",
  "/viam.component.board.v1.BoardService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.sensor.v1.SensorService/GetReadings": "viam.common.v1.GetReadingsRequest viam.common.v1.GetReadingsResponse",
  "/viam.component.sensor.v1.SensorService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.sensor.v1.SensorService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.sensor.v1.SensorService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.motor.v1.MotorService/SetPower": "viam.component.motor.v1.SetPowerRequest viam.component.motor.v1.SetPowerResponse moves",
  "/viam.component.motor.v1.MotorService/GoFor": "viam.component.motor.v1.GoForRequest viam.component.motor.v1.GoForResponse moves",
  "/viam.component.motor.v1.MotorService/GoTo": "viam.component.motor.v1.GoToRequest viam.component.motor.v1.GoToResponse moves",
  "/viam.component.motor.v1.MotorService/SetRPM": "viam.component.motor.v1.SetRPMRequest viam.component.motor.v1.SetRPMResponse moves",
  "/viam.component.motor.v1.MotorService/ResetZeroPosition": "viam.component.motor.v1.ResetZeroPositionRequest viam.component.motor.v1.ResetZeroPositionResponse",
  "/viam.component.motor.v1.MotorService/GetPosition": "viam.component.motor.v1.GetPositionRequest viam.component.motor.v1.GetPositionResponse",
  "/viam.component.motor.v1.MotorService/GetProperties": "viam.component.motor.v1.GetPropertiesRequest viam.component.motor.v1.GetPropertiesResponse",
  "/viam.component.motor.v1.MotorService/Stop": "viam.component.motor.v1.StopRequest viam.component.motor.v1.StopResponse",
  "/viam.component.motor.v1.MotorService/IsPowered": "viam.component.motor.v1.IsPoweredRequest viam.component.motor.v1.IsPoweredResponse",
  "/viam.component.motor.v1.MotorService/IsMoving": "viam.component.motor.v1.IsMovingRequest viam.component.motor.v1.IsMovingResponse",
  "/viam.component.motor.v1.MotorService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.motor.v1.MotorService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.motor.v1.MotorService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.servo.v1.ServoService/Move": "viam.component.servo.v1.MoveRequest viam.component.servo.v1.MoveResponse moves",
  "/viam.component.servo.v1.ServoService/GetPosition": "viam.component.servo.v1.GetPositionRequest viam.component.servo.v1.GetPositionResponse",
  "/viam.component.servo.v1.ServoService/Stop": "viam.component.servo.v1.StopRequest viam.component.servo.v1.StopResponse",
  "/viam.component.servo.v1.ServoService/IsMoving": "viam.component.servo.v1.IsMovingRequest viam.component.servo.v1.IsMovingResponse",
  "/viam.component.servo.v1.ServoService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.servo.v1.ServoService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.servo.v1.ServoService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.encoder.v1.EncoderService/GetPosition": "viam.component.encoder.v1.GetPositionRequest viam.component.encoder.v1.GetPositionResponse",
  "/viam.component.encoder.v1.EncoderService/ResetPosition": "viam.component.encoder.v1.ResetPositionRequest viam.component.encoder.v1.ResetPositionResponse",
  "/viam.component.encoder.v1.EncoderService/GetProperties": "viam.component.encoder.v1.GetPropertiesRequest viam.component.encoder.v1.GetPropertiesResponse",
  "/viam.component.encoder.v1.EncoderService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.encoder.v1.EncoderService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.encoder.v1.EncoderService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.base.v1.BaseService/MoveStraight": "viam.component.base.v1.MoveStraightRequest viam.component.base.v1.MoveStraightResponse moves",
  "/viam.component.base.v1.BaseService/Spin": "viam.component.base.v1.SpinRequest viam.component.base.v1.SpinResponse moves",
  "/viam.component.base.v1.BaseService/SetPower": "viam.component.base.v1.SetPowerRequest viam.component.base.v1.SetPowerResponse moves",
  "/viam.component.base.v1.BaseService/SetVelocity": "viam.component.base.v1.SetVelocityRequest viam.component.base.v1.SetVelocityResponse moves",
  "/viam.component.base.v1.BaseService/Stop": "viam.component.base.v1.StopRequest viam.component.base.v1.StopResponse",
  "/viam.component.base.v1.BaseService/IsMoving": "viam.component.base.v1.IsMovingRequest viam.component.base.v1.IsMovingResponse",
  "/viam.component.base.v1.BaseService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.base.v1.BaseService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.base.v1.BaseService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.base.v1.BaseService/GetProperties": "viam.component.base.v1.GetPropertiesRequest viam.component.base.v1.GetPropertiesResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetLinearVelocity": "viam.component.movementsensor.v1.GetLinearVelocityRequest viam.component.movementsensor.v1.GetLinearVelocityResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetAngularVelocity": "viam.component.movementsensor.v1.GetAngularVelocityRequest viam.component.movementsensor.v1.GetAngularVelocityResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetCompassHeading": "viam.component.movementsensor.v1.GetCompassHeadingRequest viam.component.movementsensor.v1.GetCompassHeadingResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetOrientation": "viam.component.movementsensor.v1.GetOrientationRequest viam.component.movementsensor.v1.GetOrientationResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetPosition": "viam.component.movementsensor.v1.GetPositionRequest viam.component.movementsensor.v1.GetPositionResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetProperties": "viam.component.movementsensor.v1.GetPropertiesRequest viam.component.movementsensor.v1.GetPropertiesResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetAccuracy": "viam.component.movementsensor.v1.GetAccuracyRequest viam.component.movementsensor.v1.GetAccuracyResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetLinearAcceleration": "viam.component.movementsensor.v1.GetLinearAccelerationRequest viam.component.movementsensor.v1.GetLinearAccelerationResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
  "/viam.component.movementsensor.v1.MovementSensorService/GetReadings": "viam.common.v1.GetReadingsRequest viam.common.v1.GetReadingsResponse",
  "/viam.component.powersensor.v1.PowerSensorService/GetVoltage": "viam.component.powersensor.v1.GetVoltageRequest viam.component.powersensor.v1.GetVoltageResponse",
  "/viam.component.powersensor.v1.PowerSensorService/GetCurrent": "viam.component.powersensor.v1.GetCurrentRequest viam.component.powersensor.v1.GetCurrentResponse",
  "/viam.component.powersensor.v1.PowerSensorService/GetPower": "viam.component.powersensor.v1.GetPowerRequest viam.component.powersensor.v1.GetPowerResponse",
  "/viam.component.powersensor.v1.PowerSensorService/GetReadings": "viam.common.v1.GetReadingsRequest viam.common.v1.GetReadingsResponse",
  "/viam.component.powersensor.v1.PowerSensorService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.powersensor.v1.PowerSensorService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.switch.v1.SwitchService/SetPosition": "viam.component.switch.v1.SetPositionRequest viam.component.switch.v1.SetPositionResponse moves",
  "/viam.component.switch.v1.SwitchService/GetPosition": "viam.component.switch.v1.GetPositionRequest viam.component.switch.v1.GetPositionResponse",
  "/viam.component.switch.v1.SwitchService/GetNumberOfPositions": "viam.component.switch.v1.GetNumberOfPositionsRequest viam.component.switch.v1.GetNumberOfPositionsResponse",
  "/viam.component.switch.v1.SwitchService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.switch.v1.SwitchService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.generic.v1.GenericService/DoCommand": "viam.common.v1.DoCommandRequest viam.common.v1.DoCommandResponse",
  "/viam.component.generic.v1.GenericService/GetStatus": "viam.common.v1.GetStatusRequest viam.common.v1.GetStatusResponse",
  "/viam.component.generic.v1.GenericService/GetGeometries": "viam.common.v1.GetGeometriesRequest viam.common.v1.GetGeometriesResponse",
} as const;

/** Messages by name. */
export interface Messages {
  "machine.cloud.v1.AccessChanged": {  };
  "machine.cloud.v1.AccessKey": { "id": string; "role": number };
  "machine.cloud.v1.AnswerCallsRequest": { "partId": string; "answers": Messages["machine.cloud.v1.CallAnswer"][] };
  "machine.cloud.v1.AnswerCallsResponse": {  };
  "machine.cloud.v1.CallAnswer": { "id": number; "response": Uint8Array; "code": number; "message": string };
  "machine.cloud.v1.ConfigChanged": { "revision": string };
  "machine.cloud.v1.Keepalive": { "revision": string };
  "machine.cloud.v1.ListAccessKeysRequest": { "partId": string };
  "machine.cloud.v1.ListAccessKeysResponse": { "keys": Messages["machine.cloud.v1.AccessKey"][] };
  "machine.cloud.v1.LiveRequested": { "duration"?: number | undefined };
  "machine.cloud.v1.RelayedCall": { "id": number; "method": string; "request": Uint8Array; "caller": string; "role": number; "sessionId": string };
  "machine.cloud.v1.ReportStatusRequest": { "partId": string; "status"?: Messages["viam.robot.v1.GetMachineStatusResponse"] | undefined; "configError": string; "readings": Messages["machine.cloud.v1.ResourceReadings"][] };
  "machine.cloud.v1.ReportStatusResponse": {  };
  "machine.cloud.v1.ResourceReadings": { "name": string; "readings"?: JsonObject | undefined; "error": string };
  "machine.cloud.v1.RestartRequested": {  };
  "machine.cloud.v1.WatchRequest": { "partId": string; "takesCalls": boolean };
  "machine.cloud.v1.WatchResponse": { "keepalive"?: Messages["machine.cloud.v1.Keepalive"] | undefined; "configChanged"?: Messages["machine.cloud.v1.ConfigChanged"] | undefined; "accessChanged"?: Messages["machine.cloud.v1.AccessChanged"] | undefined; "liveRequested"?: Messages["machine.cloud.v1.LiveRequested"] | undefined; "restartRequested"?: Messages["machine.cloud.v1.RestartRequested"] | undefined; "relayedCall"?: Messages["machine.cloud.v1.RelayedCall"] | undefined };
  "proto.rpc.v1.AuthenticateRequest": { "entity": string; "credentials"?: Messages["proto.rpc.v1.Credentials"] | undefined };
  "proto.rpc.v1.AuthenticateResponse": { "accessToken": string };
  "proto.rpc.v1.Credentials": { "type": string; "payload": string };
  "viam.app.datasync.v1.DataCaptureUploadRequest": { "metadata"?: Messages["viam.app.datasync.v1.UploadMetadata"] | undefined; "sensorContents": Messages["viam.app.datasync.v1.SensorData"][] };
  "viam.app.datasync.v1.DataCaptureUploadResponse": { "fileId": string; "binaryDataId": string };
  "viam.app.datasync.v1.SensorData": { "metadata"?: Messages["viam.app.datasync.v1.SensorMetadata"] | undefined; "struct"?: JsonObject | undefined; "binary"?: Uint8Array | undefined };
  "viam.app.datasync.v1.SensorMetadata": { "timeRequested"?: number | undefined; "timeReceived"?: number | undefined };
  "viam.app.datasync.v1.UploadMetadata": { "partId": string; "componentType": string; "componentName": string; "methodName": string; "type": number; "fileName": string; "fileExtension": string; "fileCreateTime"?: number | undefined; "fileModifyTime"?: number | undefined; "tags": string[]; "datasetIds": string[]; "mimeType": string };
  "viam.app.v1.AgentInfo": { "host": string; "os": string; "ips": string[]; "version": string; "gitRevision": string; "platform"?: string | undefined; "platformTags": string[] };
  "viam.app.v1.AuthConfig": { "handlers": Messages["viam.app.v1.AuthHandlerConfig"][]; "tlsAuthEntities": string[]; "userPermissions": Messages["viam.app.v1.UserPermission"][] };
  "viam.app.v1.AuthHandlerConfig": { "type": number; "config"?: JsonObject | undefined };
  "viam.app.v1.CertificateRequest": { "id": string };
  "viam.app.v1.CertificateResponse": { "id": string; "tlsCertificate": string; "tlsPrivateKey": string };
  "viam.app.v1.CloudConfig": { "id": string; "fqdn": string; "localFqdn": string; "managedBy": string; "signalingAddress": string; "signalingInsecure": boolean; "secret": string; "locationSecrets": Messages["viam.app.v1.LocationSecret"][]; "primaryOrgId": string; "locationId": string; "machineId": string };
  "viam.app.v1.ComponentConfig": { "name": string; "namespace": string; "type": string; "model": string; "dependsOn": string[]; "serviceConfigs": Messages["viam.app.v1.ResourceLevelServiceConfig"][]; "attributes"?: JsonObject | undefined; "api": string };
  "viam.app.v1.ConfigRequest": { "id": string; "agentInfo"?: Messages["viam.app.v1.AgentInfo"] | undefined };
  "viam.app.v1.ConfigResponse": { "config"?: Messages["viam.app.v1.RobotConfig"] | undefined };
  "viam.app.v1.LocationSecret": { "id": string; "secret": string };
  "viam.app.v1.LogRequest": { "id": string; "logs": Messages["viam.common.v1.LogEntry"][] };
  "viam.app.v1.LogResponse": {  };
  "viam.app.v1.NeedsRestartRequest": { "id": string };
  "viam.app.v1.NeedsRestartResponse": { "id": string; "mustRestart": boolean; "restartCheckInterval"?: number | undefined };
  "viam.app.v1.NetworkConfig": { "fqdn": string; "bindAddress": string; "tlsCertFile": string; "tlsKeyFile": string; "sessions"?: Messages["viam.app.v1.SessionsConfig"] | undefined; "noTls": boolean };
  "viam.app.v1.Permission": { "resources": string[]; "allowedMethods": string[] };
  "viam.app.v1.ResourceLevelServiceConfig": { "type": string; "attributes"?: JsonObject | undefined };
  "viam.app.v1.RobotConfig": { "cloud"?: Messages["viam.app.v1.CloudConfig"] | undefined; "components": Messages["viam.app.v1.ComponentConfig"][]; "services": Messages["viam.app.v1.ServiceConfig"][]; "network"?: Messages["viam.app.v1.NetworkConfig"] | undefined; "auth"?: Messages["viam.app.v1.AuthConfig"] | undefined; "debug"?: boolean | undefined; "disablePartialStart"?: boolean | undefined; "enableWebProfile": boolean; "revision": string; "disableLogDeduplication": boolean };
  "viam.app.v1.ServiceConfig": { "name": string; "namespace": string; "type": string; "attributes"?: JsonObject | undefined; "dependsOn": string[]; "model": string; "api": string; "serviceConfigs": Messages["viam.app.v1.ResourceLevelServiceConfig"][] };
  "viam.app.v1.SessionsConfig": { "heartbeatWindow"?: number | undefined };
  "viam.app.v1.User": { "type": string; "id": string };
  "viam.app.v1.UserPermission": { "user"?: Messages["viam.app.v1.User"] | undefined; "permissions": Messages["viam.app.v1.Permission"][] };
  "viam.common.v1.DoCommandRequest": { "name": string; "command"?: JsonObject | undefined };
  "viam.common.v1.DoCommandResponse": { "result"?: JsonObject | undefined };
  "viam.common.v1.GeoPoint": { "latitude": number; "longitude": number };
  "viam.common.v1.GetGeometriesRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.common.v1.GetGeometriesResponse": {  };
  "viam.common.v1.GetReadingsRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.common.v1.GetReadingsResponse": { "readings": { [key: string]: Json } };
  "viam.common.v1.GetStatusRequest": { "name": string };
  "viam.common.v1.GetStatusResponse": { "result"?: JsonObject | undefined };
  "viam.common.v1.LogEntry": { "host": string; "level": string; "time"?: number | undefined; "loggerName": string; "message": string; "caller"?: JsonObject | undefined; "stack": string; "fields": JsonObject[] };
  "viam.common.v1.Orientation": { "oX": number; "oY": number; "oZ": number; "theta": number };
  "viam.common.v1.ResourceName": { "namespace": string; "type": string; "subtype": string; "name": string };
  "viam.common.v1.Vector3": { "x": number; "y": number; "z": number };
  "viam.component.base.v1.GetPropertiesRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.base.v1.GetPropertiesResponse": { "widthMeters": number; "turningRadiusMeters": number; "wheelCircumferenceMeters": number };
  "viam.component.base.v1.IsMovingRequest": { "name": string };
  "viam.component.base.v1.IsMovingResponse": { "isMoving": boolean };
  "viam.component.base.v1.MoveStraightRequest": { "name": string; "distanceMm": number; "mmPerSec": number; "extra"?: JsonObject | undefined };
  "viam.component.base.v1.MoveStraightResponse": {  };
  "viam.component.base.v1.SetPowerRequest": { "name": string; "linear"?: Messages["viam.common.v1.Vector3"] | undefined; "angular"?: Messages["viam.common.v1.Vector3"] | undefined; "extra"?: JsonObject | undefined };
  "viam.component.base.v1.SetPowerResponse": {  };
  "viam.component.base.v1.SetVelocityRequest": { "name": string; "linear"?: Messages["viam.common.v1.Vector3"] | undefined; "angular"?: Messages["viam.common.v1.Vector3"] | undefined; "extra"?: JsonObject | undefined };
  "viam.component.base.v1.SetVelocityResponse": {  };
  "viam.component.base.v1.SpinRequest": { "name": string; "angleDeg": number; "degsPerSec": number; "extra"?: JsonObject | undefined };
  "viam.component.base.v1.SpinResponse": {  };
  "viam.component.base.v1.StopRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.base.v1.StopResponse": {  };
  "viam.component.board.v1.GetDigitalInterruptValueRequest": { "boardName": string; "digitalInterruptName": string; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.GetDigitalInterruptValueResponse": { "value": number };
  "viam.component.board.v1.GetGPIORequest": { "name": string; "pin": string; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.GetGPIOResponse": { "high": boolean };
  "viam.component.board.v1.PWMFrequencyRequest": { "name": string; "pin": string; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.PWMFrequencyResponse": { "frequencyHz": number };
  "viam.component.board.v1.PWMRequest": { "name": string; "pin": string; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.PWMResponse": { "dutyCyclePct": number };
  "viam.component.board.v1.ReadAnalogReaderRequest": { "boardName": string; "analogReaderName": string; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.ReadAnalogReaderResponse": { "value": number; "minRange": number; "maxRange": number; "stepSize": number };
  "viam.component.board.v1.SetGPIORequest": { "name": string; "pin": string; "high": boolean; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.SetGPIOResponse": {  };
  "viam.component.board.v1.SetPWMFrequencyRequest": { "name": string; "pin": string; "frequencyHz": number; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.SetPWMFrequencyResponse": {  };
  "viam.component.board.v1.SetPWMRequest": { "name": string; "pin": string; "dutyCyclePct": number; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.SetPWMResponse": {  };
  "viam.component.board.v1.SetPowerModeRequest": { "name": string; "powerMode": number; "duration"?: number | undefined; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.SetPowerModeResponse": {  };
  "viam.component.board.v1.WriteAnalogRequest": { "name": string; "pin": string; "value": number; "extra"?: JsonObject | undefined };
  "viam.component.board.v1.WriteAnalogResponse": {  };
  "viam.component.encoder.v1.GetPositionRequest": { "name": string; "positionType"?: number | undefined; "extra"?: JsonObject | undefined };
  "viam.component.encoder.v1.GetPositionResponse": { "value": number; "positionType": number };
  "viam.component.encoder.v1.GetPropertiesRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.encoder.v1.GetPropertiesResponse": { "ticksCountSupported": boolean; "angleDegreesSupported": boolean };
  "viam.component.encoder.v1.ResetPositionRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.encoder.v1.ResetPositionResponse": {  };
  "viam.component.motor.v1.GetPositionRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.GetPositionResponse": { "position": number };
  "viam.component.motor.v1.GetPropertiesRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.GetPropertiesResponse": { "positionReporting": boolean };
  "viam.component.motor.v1.GoForRequest": { "name": string; "rpm": number; "revolutions": number; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.GoForResponse": {  };
  "viam.component.motor.v1.GoToRequest": { "name": string; "rpm": number; "positionRevolutions": number; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.GoToResponse": {  };
  "viam.component.motor.v1.IsMovingRequest": { "name": string };
  "viam.component.motor.v1.IsMovingResponse": { "isMoving": boolean };
  "viam.component.motor.v1.IsPoweredRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.IsPoweredResponse": { "isOn": boolean; "powerPct": number };
  "viam.component.motor.v1.ResetZeroPositionRequest": { "name": string; "offset": number; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.ResetZeroPositionResponse": {  };
  "viam.component.motor.v1.SetPowerRequest": { "name": string; "powerPct": number; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.SetPowerResponse": {  };
  "viam.component.motor.v1.SetRPMRequest": { "name": string; "rpm": number; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.SetRPMResponse": {  };
  "viam.component.motor.v1.StopRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.motor.v1.StopResponse": {  };
  "viam.component.movementsensor.v1.GetAccuracyRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetAccuracyResponse": { "accuracy": { [key: string]: number }; "positionHdop"?: number | undefined; "positionVdop"?: number | undefined; "positionNmeaGgaFix"?: number | undefined; "compassDegreesError"?: number | undefined };
  "viam.component.movementsensor.v1.GetAngularVelocityRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetAngularVelocityResponse": { "angularVelocity"?: Messages["viam.common.v1.Vector3"] | undefined };
  "viam.component.movementsensor.v1.GetCompassHeadingRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetCompassHeadingResponse": { "value": number };
  "viam.component.movementsensor.v1.GetLinearAccelerationRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetLinearAccelerationResponse": { "linearAcceleration"?: Messages["viam.common.v1.Vector3"] | undefined };
  "viam.component.movementsensor.v1.GetLinearVelocityRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetLinearVelocityResponse": { "linearVelocity"?: Messages["viam.common.v1.Vector3"] | undefined };
  "viam.component.movementsensor.v1.GetOrientationRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetOrientationResponse": { "orientation"?: Messages["viam.common.v1.Orientation"] | undefined };
  "viam.component.movementsensor.v1.GetPositionRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetPositionResponse": { "coordinate"?: Messages["viam.common.v1.GeoPoint"] | undefined; "altitudeM": number };
  "viam.component.movementsensor.v1.GetPropertiesRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.movementsensor.v1.GetPropertiesResponse": { "linearVelocitySupported": boolean; "angularVelocitySupported": boolean; "orientationSupported": boolean; "positionSupported": boolean; "compassHeadingSupported": boolean; "linearAccelerationSupported": boolean };
  "viam.component.powersensor.v1.GetCurrentRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.powersensor.v1.GetCurrentResponse": { "amperes": number; "isAc": boolean };
  "viam.component.powersensor.v1.GetPowerRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.powersensor.v1.GetPowerResponse": { "watts": number };
  "viam.component.powersensor.v1.GetVoltageRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.powersensor.v1.GetVoltageResponse": { "volts": number; "isAc": boolean };
  "viam.component.servo.v1.GetPositionRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.servo.v1.GetPositionResponse": { "positionDeg": number };
  "viam.component.servo.v1.IsMovingRequest": { "name": string };
  "viam.component.servo.v1.IsMovingResponse": { "isMoving": boolean };
  "viam.component.servo.v1.MoveRequest": { "name": string; "angleDeg": number; "extra"?: JsonObject | undefined };
  "viam.component.servo.v1.MoveResponse": {  };
  "viam.component.servo.v1.StopRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.servo.v1.StopResponse": {  };
  "viam.component.switch.v1.GetNumberOfPositionsRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.switch.v1.GetNumberOfPositionsResponse": { "numberOfPositions": number; "labels": string[] };
  "viam.component.switch.v1.GetPositionRequest": { "name": string; "extra"?: JsonObject | undefined };
  "viam.component.switch.v1.GetPositionResponse": { "position": number };
  "viam.component.switch.v1.SetPositionRequest": { "name": string; "position": number; "extra"?: JsonObject | undefined };
  "viam.component.switch.v1.SetPositionResponse": {  };
  "viam.robot.v1.ConfigStatus": { "revision": string; "lastUpdated"?: number | undefined };
  "viam.robot.v1.FrameSystemConfigRequest": {  };
  "viam.robot.v1.FrameSystemConfigResponse": {  };
  "viam.robot.v1.GetCloudMetadataRequest": {  };
  "viam.robot.v1.GetCloudMetadataResponse": { "primaryOrgId": string; "locationId": string; "machineId": string; "machinePartId": string };
  "viam.robot.v1.GetMachineStatusRequest": {  };
  "viam.robot.v1.GetMachineStatusResponse": { "resources": Messages["viam.robot.v1.ResourceStatus"][]; "config"?: Messages["viam.robot.v1.ConfigStatus"] | undefined; "state": number; "jobStatuses": Messages["viam.robot.v1.JobStatus"][] };
  "viam.robot.v1.GetOperationsRequest": {  };
  "viam.robot.v1.GetOperationsResponse": { "operations": Messages["viam.robot.v1.Operation"][] };
  "viam.robot.v1.GetSessionsRequest": {  };
  "viam.robot.v1.GetSessionsResponse": { "sessions": Messages["viam.robot.v1.Session"][] };
  "viam.robot.v1.GetVersionRequest": {  };
  "viam.robot.v1.GetVersionResponse": { "platform": string; "version": string; "apiVersion": string };
  "viam.robot.v1.JobStatus": { "jobName": string; "recentSuccessfulRuns": number[]; "recentFailedRuns": number[] };
  "viam.robot.v1.Operation": { "id": string; "method": string; "arguments"?: JsonObject | undefined; "started"?: number | undefined; "sessionId"?: string | undefined };
  "viam.robot.v1.PeerConnectionInfo": { "type": number; "remoteAddress"?: string | undefined; "localAddress"?: string | undefined };
  "viam.robot.v1.ResourceNamesRequest": {  };
  "viam.robot.v1.ResourceNamesResponse": { "resources": Messages["viam.common.v1.ResourceName"][] };
  "viam.robot.v1.ResourceRPCSubtype": { "subtype"?: Messages["viam.common.v1.ResourceName"] | undefined; "protoService": string };
  "viam.robot.v1.ResourceRPCSubtypesRequest": {  };
  "viam.robot.v1.ResourceRPCSubtypesResponse": { "resourceRpcSubtypes": Messages["viam.robot.v1.ResourceRPCSubtype"][] };
  "viam.robot.v1.ResourceStatus": { "name"?: Messages["viam.common.v1.ResourceName"] | undefined; "state": number; "lastUpdated"?: number | undefined; "revision": string; "error": string; "cloudMetadata"?: Messages["viam.robot.v1.GetCloudMetadataResponse"] | undefined; "reachability": number; "remote"?: string | undefined };
  "viam.robot.v1.SendSessionHeartbeatRequest": { "id": string };
  "viam.robot.v1.SendSessionHeartbeatResponse": {  };
  "viam.robot.v1.Session": { "id": string; "peerConnectionInfo"?: Messages["viam.robot.v1.PeerConnectionInfo"] | undefined };
  "viam.robot.v1.ShutdownRequest": {  };
  "viam.robot.v1.ShutdownResponse": {  };
  "viam.robot.v1.StartSessionRequest": { "resume": string };
  "viam.robot.v1.StartSessionResponse": { "id": string; "heartbeatWindow"?: number | undefined };
  "viam.robot.v1.StopAllRequest": { "extra": Messages["viam.robot.v1.StopExtraParameters"][] };
  "viam.robot.v1.StopAllResponse": {  };
  "viam.robot.v1.StopExtraParameters": { "name"?: Messages["viam.common.v1.ResourceName"] | undefined; "params"?: JsonObject | undefined };
}

/** Methods by path. */
export interface Methods {
  "/proto.rpc.v1.AuthService/Authenticate": { input: Messages["proto.rpc.v1.AuthenticateRequest"]; output: Messages["proto.rpc.v1.AuthenticateResponse"] };
  "/viam.app.v1.RobotService/Config": { input: Messages["viam.app.v1.ConfigRequest"]; output: Messages["viam.app.v1.ConfigResponse"] };
  "/viam.app.v1.RobotService/Log": { input: Messages["viam.app.v1.LogRequest"]; output: Messages["viam.app.v1.LogResponse"] };
  "/viam.app.v1.RobotService/NeedsRestart": { input: Messages["viam.app.v1.NeedsRestartRequest"]; output: Messages["viam.app.v1.NeedsRestartResponse"] };
  "/viam.app.v1.RobotService/Certificate": { input: Messages["viam.app.v1.CertificateRequest"]; output: Messages["viam.app.v1.CertificateResponse"] };
  "/viam.app.datasync.v1.DataSyncService/DataCaptureUpload": { input: Messages["viam.app.datasync.v1.DataCaptureUploadRequest"]; output: Messages["viam.app.datasync.v1.DataCaptureUploadResponse"] };
  "/machine.cloud.v1.MachineService/Watch": { input: Messages["machine.cloud.v1.WatchRequest"]; output: Messages["machine.cloud.v1.WatchResponse"] };
  "/machine.cloud.v1.MachineService/ReportStatus": { input: Messages["machine.cloud.v1.ReportStatusRequest"]; output: Messages["machine.cloud.v1.ReportStatusResponse"] };
  "/machine.cloud.v1.MachineService/ListAccessKeys": { input: Messages["machine.cloud.v1.ListAccessKeysRequest"]; output: Messages["machine.cloud.v1.ListAccessKeysResponse"] };
  "/machine.cloud.v1.MachineService/AnswerCalls": { input: Messages["machine.cloud.v1.AnswerCallsRequest"]; output: Messages["machine.cloud.v1.AnswerCallsResponse"] };
  "/viam.robot.v1.RobotService/ResourceNames": { input: Messages["viam.robot.v1.ResourceNamesRequest"]; output: Messages["viam.robot.v1.ResourceNamesResponse"] };
  "/viam.robot.v1.RobotService/ResourceRPCSubtypes": { input: Messages["viam.robot.v1.ResourceRPCSubtypesRequest"]; output: Messages["viam.robot.v1.ResourceRPCSubtypesResponse"] };
  "/viam.robot.v1.RobotService/GetMachineStatus": { input: Messages["viam.robot.v1.GetMachineStatusRequest"]; output: Messages["viam.robot.v1.GetMachineStatusResponse"] };
  "/viam.robot.v1.RobotService/GetVersion": { input: Messages["viam.robot.v1.GetVersionRequest"]; output: Messages["viam.robot.v1.GetVersionResponse"] };
  "/viam.robot.v1.RobotService/StopAll": { input: Messages["viam.robot.v1.StopAllRequest"]; output: Messages["viam.robot.v1.StopAllResponse"] };
  "/viam.robot.v1.RobotService/GetOperations": { input: Messages["viam.robot.v1.GetOperationsRequest"]; output: Messages["viam.robot.v1.GetOperationsResponse"] };
  "/viam.robot.v1.RobotService/GetSessions": { input: Messages["viam.robot.v1.GetSessionsRequest"]; output: Messages["viam.robot.v1.GetSessionsResponse"] };
  "/viam.robot.v1.RobotService/GetCloudMetadata": { input: Messages["viam.robot.v1.GetCloudMetadataRequest"]; output: Messages["viam.robot.v1.GetCloudMetadataResponse"] };
  "/viam.robot.v1.RobotService/StartSession": { input: Messages["viam.robot.v1.StartSessionRequest"]; output: Messages["viam.robot.v1.StartSessionResponse"] };
  "/viam.robot.v1.RobotService/SendSessionHeartbeat": { input: Messages["viam.robot.v1.SendSessionHeartbeatRequest"]; output: Messages["viam.robot.v1.SendSessionHeartbeatResponse"] };
  "/viam.robot.v1.RobotService/FrameSystemConfig": { input: Messages["viam.robot.v1.FrameSystemConfigRequest"]; output: Messages["viam.robot.v1.FrameSystemConfigResponse"] };
  "/viam.robot.v1.RobotService/Shutdown": { input: Messages["viam.robot.v1.ShutdownRequest"]; output: Messages["viam.robot.v1.ShutdownResponse"] };
  "/viam.component.board.v1.BoardService/SetGPIO": { input: Messages["viam.component.board.v1.SetGPIORequest"]; output: Messages["viam.component.board.v1.SetGPIOResponse"] };
  "/viam.component.board.v1.BoardService/GetGPIO": { input: Messages["viam.component.board.v1.GetGPIORequest"]; output: Messages["viam.component.board.v1.GetGPIOResponse"] };
  "/viam.component.board.v1.BoardService/PWM": { input: Messages["viam.component.board.v1.PWMRequest"]; output: Messages["viam.component.board.v1.PWMResponse"] };
  "/viam.component.board.v1.BoardService/SetPWM": { input: Messages["viam.component.board.v1.SetPWMRequest"]; output: Messages["viam.component.board.v1.SetPWMResponse"] };
  "/viam.component.board.v1.BoardService/PWMFrequency": { input: Messages["viam.component.board.v1.PWMFrequencyRequest"]; output: Messages["viam.component.board.v1.PWMFrequencyResponse"] };
  "/viam.component.board.v1.BoardService/SetPWMFrequency": { input: Messages["viam.component.board.v1.SetPWMFrequencyRequest"]; output: Messages["viam.component.board.v1.SetPWMFrequencyResponse"] };
  "/viam.component.board.v1.BoardService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.board.v1.BoardService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.board.v1.BoardService/ReadAnalogReader": { input: Messages["viam.component.board.v1.ReadAnalogReaderRequest"]; output: Messages["viam.component.board.v1.ReadAnalogReaderResponse"] };
  "/viam.component.board.v1.BoardService/WriteAnalog": { input: Messages["viam.component.board.v1.WriteAnalogRequest"]; output: Messages["viam.component.board.v1.WriteAnalogResponse"] };
  "/viam.component.board.v1.BoardService/GetDigitalInterruptValue": { input: Messages["viam.component.board.v1.GetDigitalInterruptValueRequest"]; output: Messages["viam.component.board.v1.GetDigitalInterruptValueResponse"] };
  "/viam.component.board.v1.BoardService/SetPowerMode": { input: Messages["viam.component.board.v1.SetPowerModeRequest"]; output: Messages["viam.component.board.v1.SetPowerModeResponse"] };
  "/viam.component.board.v1.BoardService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.sensor.v1.SensorService/GetReadings": { input: Messages["viam.common.v1.GetReadingsRequest"]; output: Messages["viam.common.v1.GetReadingsResponse"] };
  "/viam.component.sensor.v1.SensorService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.sensor.v1.SensorService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.sensor.v1.SensorService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.motor.v1.MotorService/SetPower": { input: Messages["viam.component.motor.v1.SetPowerRequest"]; output: Messages["viam.component.motor.v1.SetPowerResponse"] };
  "/viam.component.motor.v1.MotorService/GoFor": { input: Messages["viam.component.motor.v1.GoForRequest"]; output: Messages["viam.component.motor.v1.GoForResponse"] };
  "/viam.component.motor.v1.MotorService/GoTo": { input: Messages["viam.component.motor.v1.GoToRequest"]; output: Messages["viam.component.motor.v1.GoToResponse"] };
  "/viam.component.motor.v1.MotorService/SetRPM": { input: Messages["viam.component.motor.v1.SetRPMRequest"]; output: Messages["viam.component.motor.v1.SetRPMResponse"] };
  "/viam.component.motor.v1.MotorService/ResetZeroPosition": { input: Messages["viam.component.motor.v1.ResetZeroPositionRequest"]; output: Messages["viam.component.motor.v1.ResetZeroPositionResponse"] };
  "/viam.component.motor.v1.MotorService/GetPosition": { input: Messages["viam.component.motor.v1.GetPositionRequest"]; output: Messages["viam.component.motor.v1.GetPositionResponse"] };
  "/viam.component.motor.v1.MotorService/GetProperties": { input: Messages["viam.component.motor.v1.GetPropertiesRequest"]; output: Messages["viam.component.motor.v1.GetPropertiesResponse"] };
  "/viam.component.motor.v1.MotorService/Stop": { input: Messages["viam.component.motor.v1.StopRequest"]; output: Messages["viam.component.motor.v1.StopResponse"] };
  "/viam.component.motor.v1.MotorService/IsPowered": { input: Messages["viam.component.motor.v1.IsPoweredRequest"]; output: Messages["viam.component.motor.v1.IsPoweredResponse"] };
  "/viam.component.motor.v1.MotorService/IsMoving": { input: Messages["viam.component.motor.v1.IsMovingRequest"]; output: Messages["viam.component.motor.v1.IsMovingResponse"] };
  "/viam.component.motor.v1.MotorService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.motor.v1.MotorService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.motor.v1.MotorService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.servo.v1.ServoService/Move": { input: Messages["viam.component.servo.v1.MoveRequest"]; output: Messages["viam.component.servo.v1.MoveResponse"] };
  "/viam.component.servo.v1.ServoService/GetPosition": { input: Messages["viam.component.servo.v1.GetPositionRequest"]; output: Messages["viam.component.servo.v1.GetPositionResponse"] };
  "/viam.component.servo.v1.ServoService/Stop": { input: Messages["viam.component.servo.v1.StopRequest"]; output: Messages["viam.component.servo.v1.StopResponse"] };
  "/viam.component.servo.v1.ServoService/IsMoving": { input: Messages["viam.component.servo.v1.IsMovingRequest"]; output: Messages["viam.component.servo.v1.IsMovingResponse"] };
  "/viam.component.servo.v1.ServoService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.servo.v1.ServoService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.servo.v1.ServoService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.encoder.v1.EncoderService/GetPosition": { input: Messages["viam.component.encoder.v1.GetPositionRequest"]; output: Messages["viam.component.encoder.v1.GetPositionResponse"] };
  "/viam.component.encoder.v1.EncoderService/ResetPosition": { input: Messages["viam.component.encoder.v1.ResetPositionRequest"]; output: Messages["viam.component.encoder.v1.ResetPositionResponse"] };
  "/viam.component.encoder.v1.EncoderService/GetProperties": { input: Messages["viam.component.encoder.v1.GetPropertiesRequest"]; output: Messages["viam.component.encoder.v1.GetPropertiesResponse"] };
  "/viam.component.encoder.v1.EncoderService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.encoder.v1.EncoderService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.encoder.v1.EncoderService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.base.v1.BaseService/MoveStraight": { input: Messages["viam.component.base.v1.MoveStraightRequest"]; output: Messages["viam.component.base.v1.MoveStraightResponse"] };
  "/viam.component.base.v1.BaseService/Spin": { input: Messages["viam.component.base.v1.SpinRequest"]; output: Messages["viam.component.base.v1.SpinResponse"] };
  "/viam.component.base.v1.BaseService/SetPower": { input: Messages["viam.component.base.v1.SetPowerRequest"]; output: Messages["viam.component.base.v1.SetPowerResponse"] };
  "/viam.component.base.v1.BaseService/SetVelocity": { input: Messages["viam.component.base.v1.SetVelocityRequest"]; output: Messages["viam.component.base.v1.SetVelocityResponse"] };
  "/viam.component.base.v1.BaseService/Stop": { input: Messages["viam.component.base.v1.StopRequest"]; output: Messages["viam.component.base.v1.StopResponse"] };
  "/viam.component.base.v1.BaseService/IsMoving": { input: Messages["viam.component.base.v1.IsMovingRequest"]; output: Messages["viam.component.base.v1.IsMovingResponse"] };
  "/viam.component.base.v1.BaseService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.base.v1.BaseService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.base.v1.BaseService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.base.v1.BaseService/GetProperties": { input: Messages["viam.component.base.v1.GetPropertiesRequest"]; output: Messages["viam.component.base.v1.GetPropertiesResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetLinearVelocity": { input: Messages["viam.component.movementsensor.v1.GetLinearVelocityRequest"]; output: Messages["viam.component.movementsensor.v1.GetLinearVelocityResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetAngularVelocity": { input: Messages["viam.component.movementsensor.v1.GetAngularVelocityRequest"]; output: Messages["viam.component.movementsensor.v1.GetAngularVelocityResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetCompassHeading": { input: Messages["viam.component.movementsensor.v1.GetCompassHeadingRequest"]; output: Messages["viam.component.movementsensor.v1.GetCompassHeadingResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetOrientation": { input: Messages["viam.component.movementsensor.v1.GetOrientationRequest"]; output: Messages["viam.component.movementsensor.v1.GetOrientationResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetPosition": { input: Messages["viam.component.movementsensor.v1.GetPositionRequest"]; output: Messages["viam.component.movementsensor.v1.GetPositionResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetProperties": { input: Messages["viam.component.movementsensor.v1.GetPropertiesRequest"]; output: Messages["viam.component.movementsensor.v1.GetPropertiesResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetAccuracy": { input: Messages["viam.component.movementsensor.v1.GetAccuracyRequest"]; output: Messages["viam.component.movementsensor.v1.GetAccuracyResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetLinearAcceleration": { input: Messages["viam.component.movementsensor.v1.GetLinearAccelerationRequest"]; output: Messages["viam.component.movementsensor.v1.GetLinearAccelerationResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
  "/viam.component.movementsensor.v1.MovementSensorService/GetReadings": { input: Messages["viam.common.v1.GetReadingsRequest"]; output: Messages["viam.common.v1.GetReadingsResponse"] };
  "/viam.component.powersensor.v1.PowerSensorService/GetVoltage": { input: Messages["viam.component.powersensor.v1.GetVoltageRequest"]; output: Messages["viam.component.powersensor.v1.GetVoltageResponse"] };
  "/viam.component.powersensor.v1.PowerSensorService/GetCurrent": { input: Messages["viam.component.powersensor.v1.GetCurrentRequest"]; output: Messages["viam.component.powersensor.v1.GetCurrentResponse"] };
  "/viam.component.powersensor.v1.PowerSensorService/GetPower": { input: Messages["viam.component.powersensor.v1.GetPowerRequest"]; output: Messages["viam.component.powersensor.v1.GetPowerResponse"] };
  "/viam.component.powersensor.v1.PowerSensorService/GetReadings": { input: Messages["viam.common.v1.GetReadingsRequest"]; output: Messages["viam.common.v1.GetReadingsResponse"] };
  "/viam.component.powersensor.v1.PowerSensorService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.powersensor.v1.PowerSensorService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.switch.v1.SwitchService/SetPosition": { input: Messages["viam.component.switch.v1.SetPositionRequest"]; output: Messages["viam.component.switch.v1.SetPositionResponse"] };
  "/viam.component.switch.v1.SwitchService/GetPosition": { input: Messages["viam.component.switch.v1.GetPositionRequest"]; output: Messages["viam.component.switch.v1.GetPositionResponse"] };
  "/viam.component.switch.v1.SwitchService/GetNumberOfPositions": { input: Messages["viam.component.switch.v1.GetNumberOfPositionsRequest"]; output: Messages["viam.component.switch.v1.GetNumberOfPositionsResponse"] };
  "/viam.component.switch.v1.SwitchService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.switch.v1.SwitchService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.generic.v1.GenericService/DoCommand": { input: Messages["viam.common.v1.DoCommandRequest"]; output: Messages["viam.common.v1.DoCommandResponse"] };
  "/viam.component.generic.v1.GenericService/GetStatus": { input: Messages["viam.common.v1.GetStatusRequest"]; output: Messages["viam.common.v1.GetStatusResponse"] };
  "/viam.component.generic.v1.GenericService/GetGeometries": { input: Messages["viam.common.v1.GetGeometriesRequest"]; output: Messages["viam.common.v1.GetGeometriesResponse"] };
}

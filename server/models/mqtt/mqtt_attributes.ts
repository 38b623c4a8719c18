export interface MqttAttributes {
  url: string;
  topics: string[];
  username: string | undefined;
  password: string | undefined;
  client_id: string | undefined;
  qos: number | undefined;
  max_age: number | undefined;
}

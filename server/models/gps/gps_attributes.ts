export interface GpsAttributes {
  connection_type: "serial" | "tcp";
  serial_attributes: { serial_path: string; serial_baud_rate: number | undefined } | undefined;
  address: { hostname: string; port: number } | undefined;
  ntrip_url: string | undefined;
  ntrip_mountpoint: string | undefined;
  ntrip_username: string | undefined;
  ntrip_password: string | undefined;
}

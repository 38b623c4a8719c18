/** Names of BlueZ's D-Bus API (its doc/ folder), and of the objects that we put on the bus for it. */
export const BLUEZ = "org.bluez";
export const ADAPTER = "org.bluez.Adapter1";
export const DEVICE = "org.bluez.Device1";
export const GATT_MANAGER = "org.bluez.GattManager1";
export const ADVERTISING_MANAGER = "org.bluez.LEAdvertisingManager1";
export const AGENT_MANAGER = "org.bluez.AgentManager1";
export const AGENT_MANAGER_PATH = "/org/bluez";
export const GATT_SERVICE = "org.bluez.GattService1";
export const GATT_CHARACTERISTIC = "org.bluez.GattCharacteristic1";
export const ADVERTISEMENT = "org.bluez.LEAdvertisement1";
export const AGENT = "org.bluez.Agent1";
export const OBJECT_MANAGER = "org.freedesktop.DBus.ObjectManager";
export const PROPERTIES = "org.freedesktop.DBus.Properties";

export const APPLICATION_PATH = "/machine/provisioning";
export const SERVICE_PATH = `${APPLICATION_PATH}/service`;
export const ADVERTISEMENT_PATH = "/machine/advertisement";
export const AGENT_PATH = "/machine/pairing";

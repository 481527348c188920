//! What is installed in a property.

use engine::field::Label;
use serde::Serialize;
use strum::VariantArray;
use uuid::Uuid;

use super::FLAT;
use super::values::{OneOf, PropertyId};

record! {
    /// A device that is connected.
    pub struct Device {
        /// Id of the property that the device is in.
        property_id: PropertyId, read as Option<Uuid>;
        /// What the device is called; may be empty.
        name: Label;
        /// What sort of device it is.
        device_type: OneOf<DeviceType>;
        /// Who makes the device, or connects it.
        vendor: Label;
        /// Whether the device can be reached; changes fire `device.offline` and `device.reconnected`.
        is_online: bool, read as bool;
        /// Whether the device has been put away; it fires nothing then. Null: no.
        is_archived: Option<bool>, read as Option<bool>;
        /// Whether `device.reconnected` fires as soon as the device is back, not once it has been for a while. Null: no.
        reconnects_at_once: Option<bool>, read as Option<bool>;
    }
    example { "propertyId": FLAT, "name": "Front door", "deviceType": "lock", "vendor": "Acme", "isOnline": true }
}

/// What sort of device it is.
#[derive(Serialize, VariantArray)]
#[serde(rename_all = "snake_case")]
enum DeviceType {
    Lock,
    Thermostat,
    NoiseSensor,
    Hub,
}

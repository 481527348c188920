//! Records of devices in properties.

use engine::field::Label;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, VariantArray};
use uuid::Uuid;

use super::FLAT;
use super::values::{OneOf, PropertyId};

record! {
    /// A connected device.
    pub struct Device {
        /// Id of the property that the device is in.
        property_id: PropertyId, read as Option<Uuid>;
        /// Name of the device; may be empty.
        name: Label;
        /// Type of the device.
        device_type: OneOf<DeviceType>, read as DeviceType;
        /// Vendor that makes or connects the device.
        vendor: Label;
        /// Whether the device can be reached; changes fire `device.offline` and
        /// `device.reconnected`.
        is_online: bool, read as bool;
        /// Whether the device is archived; an archived device fires no events. Null: no.
        is_archived: Option<bool>, read as Option<bool>;
        /// Whether commands such as `lockDevice` may be sent to the device. Null: yes.
        is_remote_control_enabled: Option<bool>, read where it fits as Option<bool>;
        /// Whether `device.reconnected` fires as soon as the device is back, without a delay. Null:
        /// no.
        reconnects_at_once: Option<bool>, read as Option<bool>;
    }
    example {
        "propertyId": FLAT, "name": "Front door", "deviceType": "lock", "vendor": "Acme",
        "isOnline": true,
    }
}

/// The type of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, AsRefStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DeviceType {
    Lock,
    Thermostat,
    NoiseSensor,
    Hub,
}

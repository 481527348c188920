//! Records of properties.

use engine::field::{Country, Label};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::values::{
    Address, AtMost, HttpsUrl, Latitude, Longitude, PropertyGroupId, TagId, TimeOfDay, TimeZone,
    WithheldField,
};

record! {
    /// A flat or a house that guests stay in.
    #[derive(Serialize)]
    pub struct Property {
        /// Name of the property; may be empty.
        name: Label, read as String;
        /// IANA time zone, such as `Europe/Madrid`; the dates and times of the property's stays are
        /// in this time zone.
        timezone: TimeZone, read as String;
        /// Country of the property, as a two-letter code such as `ES`.
        country: Country, read as String;
        /// Id of the one group of the property; null: none.
        #[schemars(extend("x-summary" = "The one group it belongs to."))]
        property_group_id: Option<PropertyGroupId>, read as Option<Uuid>;
        /// Ids of the property's tags; null means none.
        #[schemars(extend("x-summary" = "The tags it has."))]
        tag_ids: Option<AtMost<1000, TagId>>, read as Option<Vec<Uuid>>;
        /// Address, as one text or as an object with fields of the platform; guests see it.
        #[schemars(extend("x-summary" = "The address, as guests see it."))]
        address: Option<Address>, read as Option<Value>;
        /// Time of day from which guests may come, in the property's time zone. Null means the
        /// start of the day.
        check_in_time: Option<TimeOfDay>, read as Option<String>;
        /// Time of day by which guests must have left, in the property's time zone. Null means the
        /// end of the day.
        check_out_time: Option<TimeOfDay>, read as Option<String>;
        /// Degrees north of the equator, negative to the south.
        latitude: Option<Latitude>, read where it fits as Option<f64>;
        /// Degrees east of Greenwich, negative to the west.
        longitude: Option<Longitude>, read where it fits as Option<f64>;
        /// Address of the property's photo, an absolute https URL.
        photo_url: Option<HttpsUrl>, read where it fits as Option<String>;
        /// Name of the property's wireless network.
        wifi_name: Option<Label>, read where it fits as Option<String>;
        /// Password of the property's wireless network. No read of the public interface and no
        /// webhook returns the password.
        wifi_password: Option<WithheldField<Label>>, read where it fits as Option<String>;
        /// A text or a number for each custom field, by the id of the custom field.
        custom_fields: Option<Value>;
    }
    example {
        "name": "Casa Azul 2-1", "timezone": "Europe/Madrid", "country": "ES",
        "checkInTime": "15:00", "checkOutTime": "11:00",
    }
}

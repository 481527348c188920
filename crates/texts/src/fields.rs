//! The labels of fields in each language. A label is found by the field's name in the REST
//! interface, such as `checkInTime`.

include!(concat!(env!("OUT_DIR"), "/fields.rs"));

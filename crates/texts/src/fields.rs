//! The labels of fields. A label is found by the name that the field has in the interface.

include!(concat!(env!("OUT_DIR"), "/fields.rs"));

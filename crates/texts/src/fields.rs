//! The labels of fields, by the names that the fields have in the interface.

include!(concat!(env!("OUT_DIR"), "/fields.rs"));

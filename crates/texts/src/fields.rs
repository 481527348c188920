//! The labels of fields, by the names of the interface.

include!(concat!(env!("OUT_DIR"), "/fields.rs"));

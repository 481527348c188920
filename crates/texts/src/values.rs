//! The labels of values to choose from, by the names of the interface.

include!(concat!(env!("OUT_DIR"), "/values.rs"));

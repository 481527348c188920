//! The labels of values to choose from, by the names that the values have in the interface.

include!(concat!(env!("OUT_DIR"), "/values.rs"));

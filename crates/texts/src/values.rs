//! The labels of values that a user can choose from. A label is found by the name that the value
//! has in the interface.

include!(concat!(env!("OUT_DIR"), "/values.rs"));

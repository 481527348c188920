//! The texts of the page on which a member connects an app.

include!(concat!(env!("OUT_DIR"), "/consent.rs"));

//! The texts of the pages on which members sign in.

include!(concat!(env!("OUT_DIR"), "/sign-in.rs"));

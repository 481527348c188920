//! The texts of the set of steps and manuals that a member can create with one button.

include!(concat!(env!("OUT_DIR"), "/ready.rs"));

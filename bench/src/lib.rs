//! Code shared by the benchmark and the attack.

pub mod keys;
pub mod machine;
pub mod permissions;
pub mod report;

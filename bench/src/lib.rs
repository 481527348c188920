//! What the benchmark and the attack have in common.

pub mod keys;
pub mod machine;
pub mod permissions;
pub mod report;

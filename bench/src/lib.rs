//! Code shared by the programs `bench` and `attack`.

pub mod keys;
pub mod machine;
pub mod permissions;
pub mod report;

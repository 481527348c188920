//! The features of the service: the configuration of operators, the records that platforms
//! synchronize, and the views of guests.
//!
//! Each module imports only modules that are listed before it here, which `tests/api/house.rs`
//! checks: [`records`] and [`markdown`]; [`events`] and [`devices`]; [`translations`]; [`scopes`];
//! [`portals`]; [`precheck`] and [`manuals`]; [`words`]; [`guest`]; [`search`]; [`platform`];
//! [`calendars`]; [`tables`].

pub mod calendars;
pub mod devices;
pub mod events;
pub mod guest;
pub mod manuals;
pub mod markdown;
pub mod platform;
pub mod portals;
pub mod precheck;
pub mod records;
pub mod scopes;
pub mod search;
pub mod tables;
pub mod translations;
pub mod words;

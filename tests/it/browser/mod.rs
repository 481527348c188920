//! The guest's page in a real Chromium (contract: The guest's page).
//!
//! They run where `chromium` and `chromedriver` are found, those that judge by axe where `VESTIBULE_AXE` names its file as well;
//! `VESTIBULE_REQUIRE_CHROMIUM=1` makes it a failure that they are not.

mod axe;
mod casa;
mod conduct;
mod consent;
mod console;
mod desk;
mod driver;
mod jobs;
mod keyboard;
mod matrix;
mod offline;
mod people;
mod screenshots;
mod window;

//! Tests of the guest page and the console in a real Chromium (rules: stays#page).
//!
//! The tests run if `chromium` and `chromedriver` are installed. Tests with axe also need the path
//! of `axe.min.js` in `VESTIBULE_AXE`. With `VESTIBULE_REQUIRE_CHROMIUM=1` a missing program fails
//! the tests.

mod as_written;
mod axe;
mod casa;
mod changes;
mod conduct;
mod consent;
mod console;
mod desk;
mod driver;
mod first_start;
mod guest_reads;
mod jobs;
mod keyboard;
mod matrix;
mod offline;
mod people;
mod proxies;
mod screenshots;
mod window;

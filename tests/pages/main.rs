//! Tests of the pages: the guest's page, the console, signing in and consent, over HTTP and in
//! Chromium.

mod audit;
mod browser;
mod by_hand;
mod calendar_feeds;
mod checkin;
mod console;
mod covers;
mod demo_pages;
mod erasure;
mod oauth;
mod page;
mod page_headers;
mod people;
mod starting;
mod stored;
mod tables;
mod texts_in_place;

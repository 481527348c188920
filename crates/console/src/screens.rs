//! The list of all screens, in the order of the navigation. A new screen appears only after it has
//! been added here.

use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Method;

use super::refusal::ConsoleRefusal;
use super::request::{BASE, ConsoleRequest};
use super::words::ConsoleWords;
use super::{
    access, assign, audit, brandings, calendars, categories, frame, home, manuals, portals,
    records, search, stays, steps, submissions, translations, webhooks,
};

/// All screens, in the order of the navigation.
pub static SCREENS: &[&Screen] = &[
    &home::SCREEN,
    &submissions::SCREEN,
    &stays::SCREEN,
    &records::SCREEN,
    &portals::SCREEN,
    &brandings::SCREEN,
    &steps::SCREEN,
    &manuals::SCREEN,
    &categories::SCREEN,
    &translations::SCREEN,
    &calendars::SCREEN,
    &webhooks::SCREEN,
    &access::SCREEN,
    &audit::SCREEN,
    &search::SCREEN,
    &assign::SCREEN,
    &frame::SCREEN,
];

/// A screen: its pages, and its entry in the navigation.
pub struct Screen {
    /// The path of the screen's first page, relative to the console; empty for the home page.
    pub path: &'static str,
    /// The name of the screen's icon.
    pub icon: &'static str,
    /// Returns the screen's label in the navigation.
    pub title: fn(&ConsoleWords) -> &'static str,
    /// The group of the navigation that contains the screen.
    pub group: ScreenGroup,
    /// The operation that the screen needs. The navigation hides the screen from members who may
    /// not call the operation. `None` means that every member sees the screen.
    pub needs: Option<&'static str>,
    pub pages: &'static [ScreenPage],
}

/// The groups into which the navigation divides the screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScreenGroup {
    /// The navigation does not show the screen. Other pages link to it.
    Hidden,
    /// Screens for the daily work with stays.
    Today,
    /// Screens for the configuration of guest pages.
    Setup,
    /// Screens for webhooks, access and the audit log.
    Organization,
}

pub type ScreenResponse<'v> = BoxFuture<'v, Result<Response, ConsoleRefusal>>;

/// A page of a screen, with the function that handles its requests.
pub struct ScreenPage {
    /// The name of the page in logs.
    pub name: &'static str,
    /// The HTTP method: GET, or POST for a page that handles a form.
    pub method: Method,
    /// The path, relative to the console. `{id}` stands for an id.
    pub path: &'static str,
    /// The operations that the page calls. A member who lacks the permission for one of them cannot
    /// use the page. For a GET page, the member also needs the permission for the operation of its
    /// screen (`Screen::needs`).
    pub needs: &'static [&'static str],
    /// Whether the page's form contains a file.
    pub takes_file: bool,
    /// The function that handles a request for the page.
    pub run: for<'v> fn(&'v ConsoleRequest) -> ScreenResponse<'v>,
}

impl ScreenPage {
    /// Creates a page that answers GET requests.
    pub const fn get(
        name: &'static str,
        path: &'static str,
        run: for<'v> fn(&'v ConsoleRequest) -> ScreenResponse<'v>,
    ) -> Self {
        Self {
            name,
            method: Method::GET,
            path,
            needs: &[],
            takes_file: false,
            run,
        }
    }

    /// Creates a page that handles a form.
    pub const fn post(
        name: &'static str,
        path: &'static str,
        run: for<'v> fn(&'v ConsoleRequest) -> ScreenResponse<'v>,
    ) -> Self {
        Self {
            name,
            method: Method::POST,
            path,
            needs: &[],
            takes_file: false,
            run,
        }
    }

    /// Allows the page's form to contain a file.
    #[must_use]
    pub const fn with_file(mut self) -> Self {
        self.takes_file = true;
        self
    }

    /// Sets the operations that the page needs.
    #[must_use]
    pub const fn with_needs(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }
}

/// A page of the console, for tests that visit all pages.
#[derive(Debug, Clone)]
pub struct ScreenAddress {
    /// The name of the page in logs.
    pub name: &'static str,
    /// The HTTP method: GET, or POST for a page that handles a form.
    pub method: Method,
    /// The path from the root of the server. `{id}` stands for an id.
    pub path: String,
    /// The operations that the page needs.
    pub needs: Vec<&'static str>,
    /// Whether the navigation has a link to the page.
    pub is_in_navigation: bool,
}

/// Returns the addresses of all pages of all screens.
pub fn addresses() -> impl Iterator<Item = ScreenAddress> {
    let of = |screen: &'static Screen, page: &'static ScreenPage| ScreenAddress {
        name: page.name,
        method: page.method.clone(),
        path: format!("{BASE}{}", page.path),
        // `Screen::needs` is the operation that reads the screen's list. A page that handles a form
        // does not need it, because a member may be allowed to add to a list but not to read it.
        needs: screen
            .needs
            .iter()
            .filter(|_| page.method == Method::GET)
            .chain(page.needs)
            .copied()
            .collect(),
        is_in_navigation: screen.group != ScreenGroup::Hidden
            && page.method == Method::GET
            && page.path == screen.path,
    };
    SCREENS
        .iter()
        .flat_map(move |screen| screen.pages.iter().map(move |page| of(screen, page)))
}

/// Returns the path of the page whose route is `path`, for the resource with this id. Returns
/// `None` if there is no such page, or if the member may not open it.
pub fn resource_address(request: &ConsoleRequest, path: &str, id: &str) -> Option<String> {
    let pages = SCREENS
        .iter()
        .flat_map(|screen| screen.pages.iter().map(move |page| (screen, page)));
    let (screen, page) = pages
        .into_iter()
        .find(|(_, page)| page.method == Method::GET && page.path == path)?;
    let is_for_them = screen
        .needs
        .iter()
        .chain(page.needs)
        .all(|needs| request.may(needs));
    is_for_them.then(|| request.address(&path.replace("{id}", id)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use engine::operation::Effect;
    use vestibule::app::app;

    use super::*;

    #[test]
    fn addresses_and_names_of_pages_are_unique() {
        let pages = || SCREENS.iter().flat_map(|screen| screen.pages);
        let addresses: BTreeSet<_> = pages()
            .map(|page| (page.method.as_str(), page.path))
            .collect();
        let names: BTreeSet<_> = pages().map(|page| page.name).collect();
        assert_eq!(
            (addresses.len(), names.len()),
            (pages().count(), pages().count())
        );
    }

    #[test]
    fn every_operation_that_a_screen_needs_exists() {
        for operation in addresses().flat_map(|address| address.needs) {
            assert!(app().operation(operation).is_some(), "{operation}");
        }
    }

    /// From the operations in a form's `needs`, the permission tests learn which permissions the
    /// form requires. Two forms change no data, so they name no write operation.
    #[test]
    fn every_form_except_two_names_a_write_operation() {
        let writes = |id: &str| {
            app()
                .operation(id)
                .is_some_and(|operation| operation.effect == Effect::Write)
        };
        let silent = addresses().filter(|address| {
            address.method == Method::POST && !address.needs.iter().any(|id| writes(id))
        });
        assert_eq!(
            silent.map(|address| address.name).collect::<Vec<_>>(),
            ["renderOnScreen", "chooseConsoleLanguage"]
        );
    }

    #[test]
    fn every_screen_has_an_icon() {
        for screen in SCREENS {
            assert!(!page::icon(screen.icon).is_empty(), "{}", screen.icon);
        }
    }
}

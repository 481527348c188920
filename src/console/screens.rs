//! What there is in the console: one list, in the order of the navigation. A screen that is new is a line of it.

use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Method;

use super::refusal::Refusal;
use super::visit::{BASE, Visit};
use super::words::Words;
use super::{
    access, assign, audit, brandings, categories, frame, home, manuals, portals, search, stays, steps, submissions, translations, webhooks,
};

/// Every screen, in the order in which the navigation has them.
pub static SCREENS: &[&Screen] = &[
    &home::SCREEN,
    &submissions::SCREEN,
    &stays::SCREEN,
    &portals::SCREEN,
    &brandings::SCREEN,
    &steps::SCREEN,
    &manuals::SCREEN,
    &categories::SCREEN,
    &translations::SCREEN,
    &webhooks::SCREEN,
    &access::SCREEN,
    &audit::SCREEN,
    &search::SCREEN,
    &assign::SCREEN,
    &frame::SCREEN,
];

/// What is shown of one subject: some pages, and a place in the navigation.
pub struct Screen {
    /// Where it begins, below the console; empty for the first page.
    pub path: &'static str,
    /// Its icon, by its name.
    pub icon: &'static str,
    /// What the navigation calls it.
    pub title: fn(&Words) -> &'static str,
    /// Under which heading it stands there.
    pub group: Group,
    /// The operation without which there is nothing to see: whoever may not ask for it is not shown the way. Everybody is where there is
    /// none.
    pub needs: Option<&'static str>,
    /// Its pages.
    pub pages: &'static [Page],
}

/// The headings of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Nowhere: there is another way to it.
    Hidden,
    /// What is to be done.
    Today,
    /// What guests get.
    Setup,
    /// What goes out and who comes in.
    Organization,
}

/// How a page answers.
pub type Answering<'v> = BoxFuture<'v, Result<Response, Refusal>>;

/// A page: an address, and what is answered there.
pub struct Page {
    /// By what the log names it.
    pub name: &'static str,
    /// GET, or POST for what a form is sent to.
    pub method: Method,
    /// Below the console, with `{id}` for what the path names.
    pub path: &'static str,
    /// The operations without which nothing is done; to see something, besides that of its screen.
    pub needs: &'static [&'static str],
    /// What is answered.
    pub run: for<'v> fn(&'v Visit) -> Answering<'v>,
}

impl Page {
    /// A page to look at.
    pub const fn get(name: &'static str, path: &'static str, run: for<'v> fn(&'v Visit) -> Answering<'v>) -> Self {
        Self { name, method: Method::GET, path, needs: &[], run }
    }

    /// Where a form is sent.
    pub const fn post(name: &'static str, path: &'static str, run: for<'v> fn(&'v Visit) -> Answering<'v>) -> Self {
        Self { name, method: Method::POST, path, needs: &[], run }
    }

    /// With operations that it cannot do without.
    #[must_use]
    pub const fn needing(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }
}

/// A page of the console, for whoever goes through all of them.
#[derive(Debug, Clone)]
pub struct Address {
    /// By what the log names it.
    pub name: &'static str,
    /// GET, or POST for what a form is sent to.
    pub method: Method,
    /// From the root, with `{id}` for what the path names.
    pub path: String,
    /// The operations that it cannot do without.
    pub needs: Vec<&'static str>,
    /// Whether the navigation leads there.
    pub is_in_navigation: bool,
}

/// Every page that there is.
pub fn addresses() -> impl Iterator<Item = Address> {
    let of = |screen: &'static Screen, page: &'static Page| Address {
        name: page.name,
        method: page.method.clone(),
        path: format!("{BASE}{}", page.path),
        // A form says itself what it takes: whoever may not read a list may well add to it.
        needs: screen.needs.iter().filter(|_| page.method == Method::GET).chain(page.needs).copied().collect(),
        is_in_navigation: screen.group != Group::Hidden && page.method == Method::GET && page.path == screen.path,
    };
    SCREENS.iter().flat_map(move |screen| screen.pages.iter().map(move |page| of(screen, page)))
}

/// The address of a thing on the page of this path; none where there is no such page, or none for the member.
pub fn way(visit: &Visit, path: &str, id: &str) -> Option<String> {
    let pages = SCREENS.iter().flat_map(|screen| screen.pages.iter().map(move |page| (screen, page)));
    let (screen, page) = pages.into_iter().find(|(_, page)| page.method == Method::GET && page.path == path)?;
    let is_for_them = screen.needs.iter().chain(page.needs).all(|needs| visit.may(needs));
    is_for_them.then(|| visit.address(&path.replace("{id}", id)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use engine::operation::Effect;

    use super::*;
    use crate::app::app;

    #[test]
    fn addresses_and_names_are_told_apart() {
        let pages = || SCREENS.iter().flat_map(|screen| screen.pages);
        let addresses: BTreeSet<_> = pages().map(|page| (page.method.as_str(), page.path)).collect();
        let names: BTreeSet<_> = pages().map(|page| page.name).collect();
        assert_eq!((addresses.len(), names.len()), (pages().count(), pages().count()));
    }

    #[test]
    fn what_a_screen_needs_is_an_operation() {
        for operation in addresses().flat_map(|address| address.needs) {
            assert!(app().operation(operation).is_some(), "{operation}");
        }
    }

    /// So that the matrix of permissions knows who is refused; what is sent to the others changes nothing for anybody.
    #[test]
    fn what_a_form_writes_is_named() {
        let writes = |id: &str| app().operation(id).is_some_and(|operation| operation.effect == Effect::Write);
        let silent = addresses().filter(|address| address.method == Method::POST && !address.needs.iter().any(|id| writes(id)));
        assert_eq!(silent.map(|address| address.name).collect::<Vec<_>>(), ["renderOnScreen", "chooseConsoleLanguage"]);
    }

    #[test]
    fn every_screen_has_an_icon() {
        for screen in SCREENS {
            assert!(!crate::page::icon(screen.icon).is_empty(), "{}", screen.icon);
        }
    }
}

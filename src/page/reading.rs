//! What there is to read: the manuals of a page, and one by itself.

use std::borrow::Cow;

use askama::Template;
use engine::error::{Error, Result};

use super::frame::Frame;
use super::seen::{Category, Manual, Wifi};
use super::shown::Shown;
use super::{icons, qr};
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/manual.html")]
struct ManualPage<'v> {
    frame: Frame<'v>,
    card: Card<'v>,
}

/// A manual.
pub struct Card<'v> {
    pub manual: &'v Manual,
    pub title: &'v str,
    pub icon: Option<String>,
    /// Whether there is anything in it besides its title.
    pub has_body: bool,
    pub is_open: bool,
    /// The manual by itself.
    pub href: String,
    /// What is written in it.
    pub html: Option<Cow<'v, str>>,
    pub wifi: Option<WifiCard<'v>>,
}

/// How to get onto the flat's network.
pub struct WifiCard<'v> {
    pub name: &'v str,
    pub password: Option<&'v str>,
    /// What a phone reads with its camera.
    pub qr: Option<String>,
}

/// A heading and what there is to read under it.
pub struct Shelf<'v> {
    pub anchor: String,
    pub title: &'v str,
    /// The first icon under it.
    pub icon: Option<String>,
    pub manuals: Vec<Card<'v>>,
}

/// What a manual is about, as far as its icon tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// How to get in.
    Door,
    /// How to get onto the network.
    Wifi,
    /// What to do before leaving.
    Leaving,
    /// Anything else.
    Else,
}

impl About {
    /// By the name of an icon of Lucide's, and by whether it shows the flat's network.
    #[must_use]
    pub fn of(manual: &Manual) -> Self {
        let name = manual.icon_name.as_deref().unwrap_or_default();
        let is_one_of =
            |names: &[&str]| names.iter().any(|known| name == *known || name.strip_prefix(known).is_some_and(|rest| rest.starts_with('-')));
        if manual.wifi.is_some() || is_one_of(&["wifi"]) {
            Self::Wifi
        } else if is_one_of(&["log-out", "luggage", "calendar-x", "door-open", "plane-takeoff"]) {
            Self::Leaving
        } else if is_one_of(&["key", "lock", "door"]) {
            Self::Door
        } else {
            Self::Else
        }
    }
}

/// The page of a manual.
pub fn render(shown: &Shown, manual: &Manual) -> Result<String> {
    let untitled = shown.words.manuals.good_to_know;
    let title = manual.title.as_deref().unwrap_or(untitled);
    let card = card(manual, shown, true).unwrap_or(Card {
        manual,
        title,
        icon: None,
        has_body: false,
        is_open: true,
        href: String::new(),
        html: None,
        wifi: None,
    });
    let html = card.html.map(|html| Cow::from(raised(&html)));
    let card = Card { html, ..card };
    ManualPage { frame: Frame::of(shown, Some(title)), card }.render().map_err(Error::internal)
}

/// Headings a step further up, where no category stands above them.
fn raised(html: &str) -> String {
    (3..=6).fold(html.to_owned(), |html, level| {
        let upper = level - 1;
        html.replace(&format!("<h{level}"), &format!("<h{upper}")).replace(&format!("</h{level}>"), &format!("</h{upper}>"))
    })
}

/// A manual on a page; nothing for one that has neither a title nor anything in it.
#[must_use]
pub fn card<'v>(manual: &'v Manual, shown: &Shown, is_open: bool) -> Option<Card<'v>> {
    let has_body = manual.has_body();
    let title = manual.title.as_deref().or(has_body.then_some(shown.words.manuals.good_to_know))?;
    // A preview has no password to give.
    let code = |wifi: &'v Wifi| qr::wifi(&wifi.name, wifi.password.as_deref(), &fill(shown.words.wifi.drawing, &[("name", &wifi.name)]));
    let wifi = manual.wifi.as_ref().map(|wifi| WifiCard {
        name: &wifi.name,
        password: wifi.password.as_deref(),
        qr: if shown.is_preview { None } else { code(wifi) },
    });
    let icon = manual.icon_name.as_deref().and_then(icons::svg);
    let html = manual.description_html.as_deref().map(Cow::from);
    Some(Card { manual, title, icon, has_body, is_open, href: shown.links.manual(manual.id), html, wifi })
}

/// What stands under each heading, but for what is somewhere else on the page.
#[must_use]
pub fn shelves<'v>(shown: &'v Shown, is_elsewhere: impl Fn(&Manual) -> bool) -> Vec<Shelf<'v>> {
    let shelf = |(place, category): (usize, &'v Category)| {
        let cards: Vec<Card<'v>> =
            category.manuals.iter().filter(|manual| !is_elsewhere(manual)).filter_map(|manual| card(manual, shown, false)).collect();
        (!cards.is_empty()).then(|| Shelf {
            anchor: format!("about-{place}"),
            title: category.title.as_deref().unwrap_or(shown.words.manuals.good_to_know),
            icon: cards.iter().find_map(|card| card.icon.clone()),
            manuals: cards,
        })
    };
    shown.view.manual_categories.iter().enumerate().filter_map(shelf).collect()
}

/// The manuals about something, wherever they stand, unfolded.
#[must_use]
pub fn shelf_about<'v>(shown: &'v Shown, about: About, anchor: &str, title: &'static str) -> Option<Shelf<'v>> {
    let manuals = shown.view.manual_categories.iter().flat_map(|category| &category.manuals);
    let cards: Vec<Card<'v>> = manuals.filter(|manual| About::of(manual) == about).filter_map(|manual| card(manual, shown, true)).collect();
    (!cards.is_empty()).then(|| Shelf { anchor: anchor.to_owned(), title, icon: None, manuals: cards })
}

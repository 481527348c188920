//! The manuals on a page, and the page of a single manual.

use std::borrow::Cow;

use askama::Template;
use engine::error::{Error, Result};

use super::frame::{Frame, Tongue};
use super::shown::Shown;
use super::{icons, qr};
use crate::guest::{About, ManualCategoryView, ManualView, WifiView};
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/manual.html")]
struct ManualPage<'v> {
    frame: Frame<'v>,
    card: Card<'v>,
}

/// A manual on a page.
pub struct Card<'v> {
    pub manual: &'v ManualView,
    pub title: &'v str,
    /// The language of the title.
    pub title_language: Tongue<'v>,
    pub icon: Option<String>,
    /// Whether the manual has content besides its title.
    pub has_body: bool,
    pub is_open: bool,
    /// The address of the manual's own page.
    pub href: String,
    /// The language of the body.
    pub language: Tongue<'v>,
    /// The body of the manual.
    pub html: Option<Cow<'v, str>>,
    pub wifi: Option<WifiCard<'v>>,
}

/// The name and the password of the flat's network.
pub struct WifiCard<'v> {
    pub name: &'v str,
    pub password: Option<&'v str>,
    /// The QR code that a phone reads with its camera.
    pub qr: Option<String>,
}

/// A heading with its manuals.
pub struct Shelf<'v> {
    pub anchor: String,
    pub title: &'v str,
    /// The language of the title.
    pub language: Tongue<'v>,
    /// The first icon of these manuals.
    pub icon: Option<String>,
    pub manuals: Vec<Card<'v>>,
}

/// Renders the page of a manual.
pub fn render<'v>(shown: &'v Shown, manual: &'v ManualView) -> Result<String> {
    let untitled = shown.words.manuals.good_to_know;
    let title = manual.title.as_deref().unwrap_or(untitled);
    let card = card(manual, shown, true).unwrap_or(Card {
        manual,
        title,
        title_language: Tongue(Some(shown.language)),
        icon: None,
        has_body: false,
        is_open: true,
        href: String::new(),
        language: Tongue(None),
        html: None,
        wifi: None,
    });
    let html = card.html.map(|html| Cow::from(raised(&html)));
    let card = Card { html, ..card };
    ManualPage {
        frame: Frame::of(shown, Some(title)),
        card,
    }
    .render()
    .map_err(Error::internal)
}

/// Raises headings by one level, because no category stands above them.
fn raised(html: &str) -> String {
    (3..=6).fold(html.to_owned(), |html, level| {
        let upper = level - 1;
        html.replace(&format!("<h{level}"), &format!("<h{upper}"))
            .replace(&format!("</h{level}>"), &format!("</h{upper}>"))
    })
}

/// Builds the card of a manual; `None` for a manual that has neither a title nor content.
#[must_use]
pub fn card<'v>(manual: &'v ManualView, shown: &'v Shown, is_open: bool) -> Option<Card<'v>> {
    let has_body = manual.has_body();
    let title = manual
        .title
        .as_deref()
        .or(has_body.then_some(shown.words.manuals.good_to_know))?;
    // A preview has no password for a code.
    let code = |wifi: &'v WifiView| {
        qr::wifi(
            &wifi.name,
            wifi.password.as_deref(),
            &fill(shown.words.wifi.drawing, &[("name", &wifi.name)]),
        )
    };
    let wifi = manual.wifi.as_ref().map(|wifi| WifiCard {
        name: &wifi.name,
        password: wifi.password.as_deref(),
        qr: if shown.is_preview { None } else { code(wifi) },
    });
    let icon = manual
        .icon_name
        .as_deref()
        .map(|name| icons::svg(name).unwrap_or_else(icons::blank));
    let html = manual.description_html.as_deref().map(Cow::from);
    Some(Card {
        manual,
        title,
        title_language: Tongue(match manual.title {
            Some(_) => manual.text_languages.of("title"),
            None => Some(shown.language),
        }),
        icon,
        has_body,
        is_open,
        href: shown.links.manual(manual.id),
        language: Tongue(manual.text_languages.of("description")),
        html,
        wifi,
    })
}

/// Returns the manuals under each heading, except those that are elsewhere on the page.
#[must_use]
pub fn shelves<'v>(shown: &'v Shown, is_elsewhere: impl Fn(&ManualView) -> bool) -> Vec<Shelf<'v>> {
    let shelf = |(place, category): (usize, &'v ManualCategoryView)| {
        let cards: Vec<Card<'v>> = category
            .manuals
            .iter()
            .filter(|manual| !is_elsewhere(manual))
            .filter_map(|manual| card(manual, shown, false))
            .collect();
        (!cards.is_empty()).then(|| Shelf {
            anchor: format!("about-{place}"),
            title: category
                .title
                .as_deref()
                .unwrap_or(shown.words.manuals.good_to_know),
            language: Tongue(match category.title {
                Some(_) => category.text_languages.of("title"),
                None => Some(shown.language),
            }),
            icon: cards.iter().find_map(|card| card.icon.clone()),
            manuals: cards,
        })
    };
    shown
        .view
        .manual_categories
        .iter()
        .enumerate()
        .filter_map(shelf)
        .collect()
}

/// Returns the manuals on a subject from all headings, unfolded.
#[must_use]
pub fn shelf_about<'v>(
    shown: &'v Shown,
    about: About,
    anchor: &str,
    title: &'static str,
) -> Option<Shelf<'v>> {
    let manuals = shown
        .view
        .manual_categories
        .iter()
        .flat_map(|category| &category.manuals);
    let cards: Vec<Card<'v>> = manuals
        .filter(|manual| About::of(manual) == about)
        .filter_map(|manual| card(manual, shown, true))
        .collect();
    (!cards.is_empty()).then(|| Shelf {
        anchor: anchor.to_owned(),
        title,
        language: Tongue(Some(shown.language)),
        icon: None,
        manuals: cards,
    })
}

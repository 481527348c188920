//! The manuals on the entry page, and the page of a single manual.

use std::borrow::Cow;

use askama::Template;
use engine::error::{Error, Result};
use features::guest::{ManualCategoryView, ManualSubject, ManualView, WifiView};
use features::words::fill;

use super::frame::{PageFrame, TextLanguage};
use super::page_stay::PageStay;
use super::{icons, qr};

#[derive(Template)]
#[template(path = "manual.html")]
struct ManualPage<'v> {
    frame: PageFrame<'v>,
    card: Card<'v>,
}

/// A manual as the page shows it.
pub struct Card<'v> {
    pub manual: &'v ManualView,
    pub title: &'v str,
    /// The language of the title.
    pub title_language: TextLanguage<'v>,
    pub icon: Option<String>,
    /// Whether the manual has content besides its title.
    pub has_body: bool,
    pub is_open: bool,
    /// The address of the page that shows only this manual.
    pub href: String,
    /// The language of the manual's content.
    pub language: TextLanguage<'v>,
    /// The content of the manual as HTML.
    pub html: Option<Cow<'v, str>>,
    pub wifi: Option<WifiCard<'v>>,
}

/// The name and the password of the flat's Wi-Fi.
pub struct WifiCard<'v> {
    pub name: &'v str,
    pub password: Option<&'v str>,
    /// The QR code with which a phone joins the Wi-Fi.
    pub qr: Option<String>,
}

/// A category of manuals, as the page shows it.
pub struct ManualSection<'v> {
    pub anchor: String,
    pub title: &'v str,
    /// The language of the section's title.
    pub language: TextLanguage<'v>,
    /// The icon of the section: the icon of the first manual that has an icon.
    pub icon: Option<String>,
    pub manuals: Vec<Card<'v>>,
}

pub fn render<'v>(page_stay: &'v PageStay, manual: &'v ManualView) -> Result<String> {
    let untitled = page_stay.texts.manuals.good_to_know;
    let title = manual.title.as_deref().unwrap_or(untitled);
    let card = card(manual, page_stay, true).unwrap_or(Card {
        manual,
        title,
        title_language: TextLanguage(Some(page_stay.language)),
        icon: None,
        has_body: false,
        is_open: true,
        href: String::new(),
        language: TextLanguage(None),
        html: None,
        wifi: None,
    });
    let html = card.html.map(|html| Cow::from(raised(&html)));
    let card = Card { html, ..card };
    ManualPage {
        frame: PageFrame::of(page_stay, Some(title)),
        card,
    }
    .render()
    .map_err(Error::internal)
}

/// Raises each heading by one level, for example from `h4` to `h3`. The page of a single manual
/// shows no category title, so the manual's headings begin one level higher than on the entry page.
fn raised(html: &str) -> String {
    (3..=6).fold(html.to_owned(), |html, level| {
        let upper = level - 1;
        html.replace(&format!("<h{level}"), &format!("<h{upper}"))
            .replace(&format!("</h{level}>"), &format!("</h{upper}>"))
    })
}

/// Builds the data of a manual; `None` if it has neither a title nor content.
#[must_use]
pub fn card<'v>(
    manual: &'v ManualView,
    page_stay: &'v PageStay,
    is_open: bool,
) -> Option<Card<'v>> {
    let has_body = manual.has_body();
    let title = manual
        .title
        .as_deref()
        .or(has_body.then_some(page_stay.texts.manuals.good_to_know))?;
    // A preview contains bullets instead of the Wi-Fi password, so a QR code would not work.
    let code = |wifi: &'v WifiView| {
        qr::wifi(
            &wifi.name,
            wifi.password.as_deref(),
            &fill(page_stay.texts.wifi.drawing, &[("name", &wifi.name)]),
        )
    };
    let wifi = manual.wifi.as_ref().map(|wifi| WifiCard {
        name: &wifi.name,
        password: wifi.password.as_deref(),
        qr: if page_stay.is_preview {
            None
        } else {
            code(wifi)
        },
    });
    let icon = manual
        .icon_name
        .as_deref()
        .map(|name| icons::svg(name).unwrap_or_else(icons::blank));
    let html = manual.description_html.as_deref().map(Cow::from);
    Some(Card {
        manual,
        title,
        title_language: TextLanguage(match manual.title {
            Some(_) => manual.text_languages.of("title"),
            None => Some(page_stay.language),
        }),
        icon,
        has_body,
        is_open,
        href: page_stay.links.manual(manual.id),
        language: TextLanguage(manual.text_languages.of("description")),
        html,
        wifi,
    })
}

/// Returns the manuals of each category. Omits each manual for which `is_elsewhere` returns true,
/// because another part of the page shows it.
#[must_use]
pub fn sections<'v>(
    page_stay: &'v PageStay,
    is_elsewhere: impl Fn(&ManualView) -> bool,
) -> Vec<ManualSection<'v>> {
    let section = |(place, category): (usize, &'v ManualCategoryView)| {
        let cards: Vec<Card<'v>> = category
            .manuals
            .iter()
            .filter(|manual| !is_elsewhere(manual))
            .filter_map(|manual| card(manual, page_stay, false))
            .collect();
        (!cards.is_empty()).then(|| ManualSection {
            anchor: format!("about-{place}"),
            title: category
                .title
                .as_deref()
                .unwrap_or(page_stay.texts.manuals.good_to_know),
            language: TextLanguage(match category.title {
                Some(_) => category.text_languages.of("title"),
                None => Some(page_stay.language),
            }),
            icon: cards.iter().find_map(|card| card.icon.clone()),
            manuals: cards,
        })
    };
    page_stay
        .view
        .manual_categories
        .iter()
        .enumerate()
        .filter_map(section)
        .collect()
}

/// Returns one section with all manuals about a subject, from all categories. The page shows the
/// content of each manual without a click.
#[must_use]
pub fn section_about<'v>(
    page_stay: &'v PageStay,
    about: ManualSubject,
    anchor: &str,
    title: &'static str,
) -> Option<ManualSection<'v>> {
    let manuals = page_stay
        .view
        .manual_categories
        .iter()
        .flat_map(|category| &category.manuals);
    let cards: Vec<Card<'v>> = manuals
        .filter(|manual| ManualSubject::of(manual) == about)
        .filter_map(|manual| card(manual, page_stay, true))
        .collect();
    (!cards.is_empty()).then(|| ManualSection {
        anchor: anchor.to_owned(),
        title,
        language: TextLanguage(Some(page_stay.language)),
        icon: None,
        manuals: cards,
    })
}

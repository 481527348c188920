//! What stands around every page: its head and foot, the languages to choose from, the bar at the bottom.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::moment::Moment;
use sha2::{Digest as _, Sha256};

use super::phase::Phase;
use super::shown::Shown;
use super::{handy, icons, theme};
use crate::guest::BrandingView;
use crate::portals::CommunicationMethod;
use crate::words::{Words, fill, in_language, is_right_to_left, own_name};

/// How the page looks, but for the colours.
static STYLE: LazyLock<String> = LazyLock::new(|| include_str!("../../templates/page/page.css").replace('\n', ""));

/// What makes it handier where scripts run. Nothing needs it.
const SCRIPT: &str = include_str!("../../templates/page/page.js");

/// The script's hash, as a policy names it.
pub static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(SCRIPT))));

/// What stands around a page.
pub struct Frame<'v> {
    pub title: String,
    /// The language of the words.
    pub language: &'static str,
    pub language_name: &'static str,
    pub direction: &'static str,
    pub words: &'static Words,
    /// The colours.
    pub theme: String,
    pub style: &'static str,
    pub script: &'static str,
    pub branding: Option<&'v BrandingView>,
    /// Where the page's own things are, on the page of a stay.
    pub place: Option<Place>,
    /// Leads back to the page by which the guest entered.
    pub back: Option<String>,
    pub languages: Vec<LanguageChoice>,
    pub globe: String,
    pub arrow: String,
    /// The sign of a thing's own address.
    pub link: String,
    /// What is said of the page's age where there is no connection.
    pub age: Option<String>,
    pub bar: Vec<Way>,
    pub foot: Option<Foot<'v>>,
    pub is_preview: bool,
}

/// Where the page's own things are.
pub struct Place {
    pub manifest: String,
    pub worker: String,
    /// The path below which the worker works.
    pub scope: String,
}

/// A language to choose.
pub struct LanguageChoice {
    pub tag: String,
    /// What it calls itself.
    pub name: String,
    pub href: String,
    pub is_current: bool,
}

/// A way to somewhere or somebody.
pub struct Way {
    pub icon: String,
    pub label: &'static str,
    pub href: String,
    /// Whether it leads away from the page.
    pub is_away: bool,
}

/// The foot of a page.
pub struct Foot<'v> {
    pub notes: Option<&'v str>,
    /// What each is called, and where it leads.
    pub links: Vec<(&'v str, String)>,
}

/// The drawing of an icon, where there is one.
#[must_use]
pub fn icon(name: &str) -> String {
    icons::svg(name).unwrap_or_default()
}

impl Frame<'_> {
    /// What stands around a page that is of no stay, in the language with this tag.
    #[must_use]
    pub fn bare(tag: &str, title: impl FnOnce(&'static Words) -> &'static str) -> Frame<'static> {
        let (words, language) = in_language(tag);
        Frame {
            title: title(words).to_owned(),
            language,
            language_name: own_name(language),
            direction: direction(language),
            words,
            theme: theme::css(None),
            style: &STYLE,
            script: SCRIPT,
            branding: None,
            place: None,
            back: None,
            languages: Vec::new(),
            globe: String::new(),
            arrow: String::new(),
            link: String::new(),
            age: None,
            bar: Vec::new(),
            foot: None,
            is_preview: false,
        }
    }
}

impl<'v> Frame<'v> {
    /// What stands around a page of a stay that is called so; nothing more than the stay for the page by which a guest enters.
    #[must_use]
    pub fn of(shown: &'v Shown, title: Option<&str>) -> Self {
        let name = shown.name();
        let bare = Frame::bare(shown.language, |words| words.phase.your_stay);
        Frame {
            title: title.map_or_else(|| name.to_owned(), |title| format!("{title} · {name}")),
            theme: theme::css(shown.view.branding.as_ref()),
            branding: shown.view.branding.as_ref(),
            place: (!shown.is_preview).then(|| Place {
                manifest: shown.links.manifest(),
                worker: shown.links.worker(),
                scope: shown.links.path().to_owned(),
            }),
            age: Some(format!(
                "{} {}",
                fill(bare.words.keep.offline, &[("moment", &shown.moment(Moment(shown.now)))]),
                bare.words.keep.offline_forms
            )),
            back: title.map(|_| shown.links.home()),
            languages: languages(shown),
            globe: icon("globe"),
            arrow: icon("arrow-left"),
            link: icon("link"),
            bar: bar(shown),
            foot: Some(foot(shown)),
            is_preview: shown.is_preview,
            ..bare
        }
    }
}

fn direction(language: &str) -> &'static str {
    if is_right_to_left(language) { "rtl" } else { "ltr" }
}

/// The languages of the organization, where there are several.
fn languages(shown: &Shown) -> Vec<LanguageChoice> {
    let offered = &shown.view.languages;
    if offered.len() < 2 {
        return Vec::new();
    }
    let choice = |tag: &String| LanguageChoice {
        name: own_name(tag).to_owned(),
        href: shown.links.home_in(tag),
        is_current: tag == &shown.tag || tag.as_str() == shown.language,
        tag: tag.clone(),
    };
    offered.iter().map(choice).collect()
}

/// How the host is reached, as the portal has it.
#[must_use]
pub fn host(shown: &Shown) -> Option<Way> {
    let contact = shown.view.contact.as_ref()?;
    let words = &shown.words.contact;
    let (icon_name, label, href) = match contact.method {
        CommunicationMethod::Whatsapp => ("message-circle", words.whatsapp, handy::whatsapp(&contact.value)),
        CommunicationMethod::Text => ("message-square", words.text, handy::text(&contact.value)),
        CommunicationMethod::Phone => ("phone", words.call, handy::call(&contact.value)),
    };
    Some(Way { icon: icon(icon_name), label, href, is_away: true })
}

fn bar(shown: &Shown) -> Vec<Way> {
    let words = &shown.words.contact;
    let is_on = shown.phase() != Phase::Cancelled;
    let directions = shown.place().filter(|_| is_on);
    let directions =
        directions.map(|place| Way { icon: icon("map-pin"), label: words.directions, href: place.directions(), is_away: true });
    let messages = (shown.takes_messages() && is_on).then(|| Way {
        icon: icon("mail"),
        label: words.messages,
        href: shown.links.messages(),
        is_away: false,
    });
    host(shown).into_iter().chain(directions).chain(messages).collect()
}

fn foot(shown: &Shown) -> Foot<'_> {
    let portal = shown.view.portal.as_ref();
    let mail = portal.and_then(|portal| portal.support_email.as_deref()).map(|email| (email, format!("mailto:{email}")));
    let branding = shown.view.branding.as_ref();
    let socials = branding.into_iter().flat_map(|branding| {
        let links = [("Facebook", &branding.facebook_url), ("Instagram", &branding.instagram_url), ("LinkedIn", &branding.linkedin_url)];
        links.into_iter().filter_map(|(name, url)| Some((name, url.clone()?)))
    });
    Foot { notes: portal.and_then(|portal| portal.support_notes.as_deref()), links: mail.into_iter().chain(socials).collect() }
}

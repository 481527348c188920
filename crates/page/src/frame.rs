//! The frame of every page of the stay: head, foot, language selection, and the bar at the bottom.

use std::sync::LazyLock;

use engine::language::{is_right_to_left, is_same};
use engine::moment::Moment;
use features::guest::{BrandingView, Phase};
use features::markdown;
use features::portals::CommunicationMethod;
use features::words::{Words, fill, in_language, own_name};

use super::page_stay::PageStay;
use super::{contact_links, icons, theme};
use vestibule_http::browser::hash;

/// The style sheet of the page. The branding's colours are added on each page.
static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../templates/page.css").replace('\n', ""));

/// The script of every page that has no form for uploading files. Pages with such a form have
/// [`FILES_SCRIPT`] instead. Every page also works without a script.
const SCRIPT: &str = include_str!("../templates/page.js");

/// The script of pages with a form that uploads files. It contains additional code, which scales
/// photos down before the upload.
pub const FILES_SCRIPT: &str = concat!(
    include_str!("../templates/page.js"),
    include_str!("../templates/photos.js")
);

/// The hash of `FILES_SCRIPT`, for the content security policy.
pub static FILES_SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| hash(FILES_SCRIPT));

/// The hash of `SCRIPT`, for the content security policy.
pub static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| hash(SCRIPT));

/// The data of the template `page/base.html`, which every page extends.
pub struct PageFrame<'v> {
    pub title: String,
    /// The language of the product's own texts, such as labels and buttons.
    pub language: &'static str,
    /// The tag of the language in which the page requests the texts that the organization wrote,
    /// such as `pt-BR`. A text without a version in this language is shown in another language.
    pub tag: String,
    pub language_name: &'static str,
    pub direction: &'static str,
    pub words: &'static Words,
    /// The colours of the branding, as CSS.
    pub theme: String,
    pub style: &'static str,
    pub script: &'static str,
    pub branding: Option<&'v BrandingView>,
    /// The URLs of the web manifest and of the service worker; `None` on a page that belongs to no
    /// stay, such as an error page.
    pub addresses: Option<PageAddresses>,
    /// The link back to the entry page.
    pub back: Option<String>,
    pub languages: Vec<LanguageChoice>,
    pub globe: String,
    pub arrow: String,
    /// HTML of the icon for links to the page of a single manual.
    pub link: String,
    /// A sentence that says how old the page is. Only the offline copy of the page shows it.
    pub age_notice: Option<String>,
    pub bar: Vec<ContactLink>,
    pub foot: Option<PageFoot<'v>>,
    pub is_preview: bool,
    /// The form with which staff choose the time for which a preview is rendered; `None` on a page
    /// that is no preview.
    pub picker: Option<TimePicker>,
    /// Today's date at the flat, in ISO 8601 format; empty on a page that belongs to no stay.
    pub today: String,
}

/// The form in the preview of a guest page. Staff enter a time in it, and the preview then shows
/// the page as a guest would see it at that time.
pub struct TimePicker {
    pub action: String,
    /// The value of the query parameter `language`. The form sends this parameter again, so that
    /// the page stays in the same language.
    pub language: Option<String>,
    /// The time for which the preview is rendered, as local time at the flat.
    pub at: String,
}

/// The URLs of the page's web manifest and of its service worker, and the path that the worker
/// covers.
pub struct PageAddresses {
    pub manifest: String,
    pub worker: String,
    /// The path of the service worker's scope. The worker handles requests below this path.
    pub scope: String,
}

/// A language that the guest can choose.
pub struct LanguageChoice {
    pub tag: String,
    /// The name of the language, written in that language.
    pub name: String,
    pub href: String,
    pub is_current: bool,
}

/// A link in the bar at the bottom of the page, in a tile or in the help section. An example is the
/// link that calls the host.
pub struct ContactLink {
    pub icon: String,
    pub label: &'static str,
    pub href: String,
    /// Whether the link leads to another website.
    pub is_external: bool,
}

/// The language of a text that the host wrote. `None` means that the text is in the requested
/// language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLanguage<'l>(pub Option<&'l str>);

impl<'l> From<Option<&'l str>> for TextLanguage<'l> {
    fn from(language: Option<&'l str>) -> Self {
        Self(language)
    }
}

impl From<&Self> for TextLanguage<'_> {
    fn from(language: &Self) -> Self {
        *language
    }
}

/// The links at the foot of each page.
pub struct PageFoot<'v> {
    pub notes: Option<&'v str>,
    /// The label and the address of each link.
    pub links: Vec<(&'v str, String)>,
}

/// Returns the SVG of an icon; empty for an unknown icon.
#[must_use]
pub fn icon(name: &str) -> String {
    icons::svg(name).unwrap_or_default()
}

impl PageFrame<'_> {
    /// Builds the frame of a page that belongs to no stay, such as an error page, in the language
    /// `tag`.
    #[must_use]
    pub fn bare(
        tag: &str,
        title: impl FnOnce(&'static Words) -> &'static str,
    ) -> PageFrame<'static> {
        let (words, language) = in_language(tag);
        PageFrame {
            title: title(words).to_owned(),
            language,
            tag: tag.to_owned(),
            language_name: own_name(language),
            direction: direction(language),
            words,
            theme: theme::css(None),
            style: &STYLE,
            script: SCRIPT,
            branding: None,
            addresses: None,
            back: None,
            languages: Vec::new(),
            globe: String::new(),
            arrow: String::new(),
            link: String::new(),
            age_notice: None,
            bar: Vec::new(),
            foot: None,
            is_preview: false,
            picker: None,
            today: String::new(),
        }
    }
}

impl<'v> PageFrame<'v> {
    /// Builds the frame of a page of the stay. `title` is `None` for the entry page, whose title is
    /// the name of the stay.
    #[must_use]
    pub fn of(page_stay: &'v PageStay, title: Option<&str>) -> Self {
        let name = page_stay.name();
        let bare = PageFrame::bare(page_stay.language, |words| words.phase.your_stay);
        PageFrame {
            tag: page_stay.tag.clone(),
            title: title.map_or_else(|| name.to_owned(), |title| format!("{title} · {name}")),
            theme: theme::css(page_stay.view.branding.as_ref()),
            branding: page_stay.view.branding.as_ref(),
            addresses: (!page_stay.is_preview).then(|| PageAddresses {
                manifest: page_stay.links.manifest(),
                worker: page_stay.links.worker(),
                scope: page_stay.links.path().to_owned(),
            }),
            age_notice: Some(format!(
                "{} {}",
                fill(
                    bare.words.keep.offline,
                    &[("moment", &page_stay.timestamp_text(Moment(page_stay.now)))]
                ),
                bare.words.keep.offline_forms
            )),
            back: title.map(|_| page_stay.links.home()),
            languages: languages(page_stay),
            globe: icon("globe"),
            arrow: icon("arrow-left"),
            link: icon("link"),
            bar: bar(page_stay),
            foot: Some(foot(page_stay)),
            is_preview: page_stay.is_preview,
            today: page_stay.today().to_string(),
            picker: page_stay.view.preview.as_ref().map(|preview| TimePicker {
                action: page_stay.links.path().to_owned(),
                language: page_stay.links.language().map(str::to_owned),
                at: preview
                    .at
                    .0
                    .to_zoned(page_stay.zone())
                    .strftime("%Y-%m-%dT%H:%M")
                    .to_string(),
            }),
            ..bare
        }
    }
}

impl PageFrame<'_> {
    /// Returns the `lang` and `dir` attributes for a text of the host. If the text has the same
    /// language as the page, returns only `dir="auto"`. If `language` contains no tag, the text is
    /// in the requested language.
    #[must_use]
    pub fn language_attributes<'l>(&'l self, language: impl Into<TextLanguage<'l>>) -> String {
        let language = language.into().0.unwrap_or(&self.tag);
        if is_same(language, self.language) {
            return " dir=\"auto\"".to_owned();
        }
        format!(" lang=\"{language}\" dir=\"{}\"", direction(language))
    }

    /// Returns a text of the host as HTML. If its language differs from the page's, the text gets
    /// an element with the attributes of [`Self::language_attributes`].
    #[must_use]
    pub fn host<'l>(&'l self, text: &str, language: impl Into<TextLanguage<'l>>) -> String {
        markdown::plain(text, Some(language.into().0.unwrap_or(&self.tag)))
    }

    /// Returns a sentence as HTML. `words` is the built-in sentence, into which the title of a step
    /// is inserted. The title gets a separate element if its language is not that of the page.
    #[must_use]
    pub fn with_title<'l>(
        &'l self,
        words: &str,
        title: &str,
        language: impl Into<TextLanguage<'l>>,
    ) -> String {
        let language = language.into();
        if is_same(language.0.unwrap_or(&self.tag), self.language) {
            return self.any(&fill(words, &[("title", title)]));
        }
        let (attributes, title) = (
            self.language_attributes(language),
            self.host(title, language),
        );
        let title = format!("<span{attributes}>{title}</span>");
        fill(&self.any(words), &[("title", &title)])
    }

    /// Returns a text as HTML. The host wrote the text in a language that the service does not
    /// know, so the browser detects the direction of the text.
    #[must_use]
    #[expect(clippy::unused_self, reason = "templates have no other way to call it")]
    pub fn any(&self, text: &str) -> String {
        markdown::plain(text, None)
    }
}

fn direction(language: &str) -> &'static str {
    if is_right_to_left(language) {
        "rtl"
    } else {
        "ltr"
    }
}

/// Returns the languages that the guest can choose. Returns an empty list if the organization has
/// only one language.
fn languages(page_stay: &PageStay) -> Vec<LanguageChoice> {
    let offered = &page_stay.view.languages;
    if offered.len() < 2 {
        return Vec::new();
    }
    let choice = |tag: &String| LanguageChoice {
        name: own_name(tag).to_owned(),
        href: page_stay.links.home_in(tag),
        is_current: tag == &page_stay.tag || tag.as_str() == page_stay.language,
        tag: tag.clone(),
    };
    offered.iter().map(choice).collect()
}

/// Returns the link with which the guest contacts the host; `None` without a contact. The portal
/// sets whether the guest calls, writes an e-mail or uses another method.
#[must_use]
pub fn host(page_stay: &PageStay) -> Option<ContactLink> {
    let contact = page_stay.view.contact.as_ref()?;
    let words = &page_stay.texts.contact;
    let (icon_name, label, href) = match contact.method {
        CommunicationMethod::Whatsapp => (
            "message-circle",
            words.whatsapp,
            contact_links::whatsapp(&contact.value),
        ),
        CommunicationMethod::Text => (
            "message-square",
            words.text,
            contact_links::text(&contact.value),
        ),
        CommunicationMethod::Phone => ("phone", words.call, contact_links::call(&contact.value)),
    };
    Some(ContactLink {
        icon: icon(icon_name),
        label,
        href,
        is_external: true,
    })
}

fn bar(page_stay: &PageStay) -> Vec<ContactLink> {
    let words = &page_stay.texts.contact;
    let is_on = page_stay.phase() != Phase::Cancelled;
    let directions = page_stay.flat_position().filter(|_| is_on);
    let directions = directions.map(|place| ContactLink {
        icon: icon("map-pin"),
        label: words.directions,
        href: place.directions(),
        is_external: true,
    });
    let messages = (page_stay.accepts_messages() && is_on).then(|| ContactLink {
        icon: icon("mail"),
        label: words.messages,
        href: page_stay.links.messages(),
        is_external: false,
    });
    host(page_stay)
        .into_iter()
        .chain(directions)
        .chain(messages)
        .collect()
}

fn foot(page_stay: &PageStay) -> PageFoot<'_> {
    let portal = page_stay.view.portal.as_ref();
    let mail = portal
        .and_then(|portal| portal.support_email.as_deref())
        .map(|email| (email, format!("mailto:{email}")));
    let branding = page_stay.view.branding.as_ref();
    let socials = branding.into_iter().flat_map(|branding| {
        let links = [
            ("Facebook", &branding.facebook_url),
            ("Instagram", &branding.instagram_url),
            ("LinkedIn", &branding.linkedin_url),
        ];
        links
            .into_iter()
            .filter_map(|(name, url)| Some((name, url.clone()?)))
    });
    PageFoot {
        notes: portal.and_then(|portal| portal.support_notes.as_deref()),
        links: mail.into_iter().chain(socials).collect(),
    }
}

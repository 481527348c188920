//! The frame of every page: navigation, search, the signed-in member and the language selection.

use access::people::{self, LANGUAGES};
use askama::Template;
use axum::response::Response;
use page::icon;
use strum::{AsRefStr, EnumString};

use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{SCREENS, Screen, ScreenGroup, ScreenPage, ScreenResponse};
use super::words::ConsoleWords;
use vestibule_http::browser::retriable;

/// The path of the console's search page, relative to the console.
const SEARCH: &str = "/search";

/// The screen that handles the language selection, which is part of every page.
pub static SCREEN: Screen = Screen {
    path: "/language",
    icon: "globe",
    title: |words| words.frame.language,
    group: ScreenGroup::Hidden,
    needs: None,
    pages: &[ScreenPage::post(
        "chooseConsoleLanguage",
        "/language",
        choose_language,
    )],
};

/// An action that a form has completed. The next page that the member sees confirms the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsRefStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum CompletedAction {
    /// A resource was created.
    Created,
    /// A change was saved.
    Saved,
    /// A form was sent, but it changed nothing.
    Unchanged,
    /// A resource was removed.
    Removed,
    /// The order of a list was changed.
    Moved,
    /// A resource was assigned or unassigned.
    Assigned,
    /// A test event of a webhook is being sent, or deliveries are being repeated.
    Sent,
    /// There was no failed delivery to repeat.
    SentNone,
}

impl CompletedAction {
    /// Returns `Saved` if the form changed something, otherwise `Unchanged`.
    pub const fn of_save(is_changed: bool) -> Self {
        if is_changed {
            Self::Saved
        } else {
            Self::Unchanged
        }
    }

    /// Returns the sentence with which the next page confirms the action.
    const fn sentence(self, words: &ConsoleWords) -> &'static str {
        match self {
            Self::Created => words.frame.created,
            Self::Saved => words.frame.saved,
            Self::Unchanged => words.frame.unchanged,
            Self::Removed => words.frame.removed,
            Self::Moved => words.frame.moved,
            Self::Assigned => words.frame.assigned,
            Self::Sent => words.frame.sent,
            Self::SentNone => words.frame.sent_none,
        }
    }
}

/// The data of the template `console/frame.html`. The templates that extend it have this data in
/// their field `frame`.
pub struct ConsoleFrame<'v> {
    pub title: String,
    pub language: &'static str,
    pub words: &'static ConsoleWords,
    pub style: &'static str,
    pub script: &'static str,
    pub groups: Vec<NavigationGroup>,
    /// The address of the page with search results. `None` if the member may not search.
    pub search: Option<String>,
    pub person: &'v str,
    pub organization: &'v str,
    pub form: String,
    pub home: String,
    pub sign_out: String,
    pub choose_language: String,
    /// The path of the current page. After the member has selected a language, the browser returns
    /// to this page.
    pub current_path: String,
    pub languages: [(&'static str, &'static str); 3],
    /// The sentence that confirms the action which was just completed.
    pub confirmation: Option<&'static str>,
    /// The title and the address of each breadcrumb.
    pub crumbs: Vec<(String, String)>,
}

/// A group of links in the navigation.
pub struct NavigationGroup {
    pub title: &'static str,
    pub ways: Vec<ScreenLink>,
}

/// A link to a screen.
pub struct ScreenLink {
    pub icon: String,
    pub label: &'static str,
    pub href: String,
    pub is_current: bool,
}

impl<'v> ConsoleFrame<'v> {
    /// Builds the frame of a page with this title.
    pub fn new(request: &'v ConsoleRequest, title: impl Into<String>) -> Self {
        let words = request.texts;
        Self {
            title: title.into(),
            language: request.language,
            words,
            style: &reply::STYLE,
            script: reply::SCRIPT,
            groups: navigation(request),
            search: (request.may("search") && SCREENS.iter().any(|screen| screen.path == SEARCH))
                .then(|| request.address(SEARCH)),
            person: request.signed_in.name(),
            organization: &request.signed_in.organization.settings.name,
            form: request.signed_in.form_token(),
            home: request.address(""),
            sign_out: people::address(&request.service, "/sign-out"),
            choose_language: request.address("/language"),
            current_path: request.path.clone(),
            languages: [("en", "English"), ("es", "Español"), ("fr", "Français")],
            confirmation: request
                .query_parameter("done")
                .and_then(|done| done.parse::<CompletedAction>().ok())
                .map(|done| done.sentence(words)),
            crumbs: Vec::new(),
        }
    }

    /// Adds the breadcrumb of a parent page.
    pub fn with_parent(
        mut self,
        request: &ConsoleRequest,
        title: impl Into<String>,
        path: &str,
    ) -> Self {
        self.crumbs.push((title.into(), request.address(path)));
        self
    }
}

/// Returns the links to the screens that the member may see.
fn navigation(request: &ConsoleRequest) -> Vec<NavigationGroup> {
    let words = &request.texts.frame;
    let groups = [
        (ScreenGroup::Today, words.today),
        (ScreenGroup::Setup, words.setup),
        (ScreenGroup::Organization, words.organization),
    ];
    let way = |screen: &&&Screen| ScreenLink {
        icon: icon(screen.icon),
        label: (screen.title)(request.texts),
        href: request.address(screen.path),
        is_current: std::ptr::eq(**screen, request.screen),
    };
    let shown = groups.map(|(group, title)| {
        let screens = SCREENS.iter().filter(|screen| {
            screen.group == group && screen.needs.is_none_or(|needs| request.may(needs))
        });
        NavigationGroup {
            title,
            ways: screens.collect::<Vec<_>>().iter().map(way).collect(),
        }
    });
    shown
        .into_iter()
        .filter(|group| !group.ways.is_empty())
        .collect()
}

/// The frame of a console page for a visitor without a session.
pub struct Bare {
    pub title: &'static str,
    pub language: &'static str,
    pub style: &'static str,
}

impl Bare {
    pub fn new(language: &'static str, title: &'static str) -> Self {
        Self {
            title,
            language,
            style: &reply::STYLE,
        }
    }
}

/// The error page for a visitor without a session.
#[derive(Template)]
#[template(path = "instead.html")]
pub struct ReplacementPage {
    frame: Bare,
    text: &'static str,
}

impl ReplacementPage {
    pub fn new(language: &'static str, refusal: &ConsoleRefusal, words: &ConsoleWords) -> Self {
        let (title, text) = heading_and_text(refusal, words);
        Self {
            frame: Bare::new(language, title),
            text,
        }
    }
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'v> {
    frame: ConsoleFrame<'v>,
    text: &'static str,
    /// The English message of the refusal. Empty if the page does not show it.
    details: &'v str,
}

/// Returns the error page for a refusal.
pub fn refusal(request: &ConsoleRequest, refusal: &ConsoleRefusal) -> Response {
    let (title, text) = heading_and_text(refusal, request.texts);
    let says_more =
        matches!(refusal.status, 400 | 403 | 409 | 422) && !refusal.is_of_another_session;
    let message = if says_more {
        refusal.message.as_str()
    } else {
        ""
    };
    let page = RefusalPage {
        frame: ConsoleFrame::new(request, title),
        text,
        details: message,
    };
    retriable(
        reply::page_of_template(request, refusal.status, &page),
        refusal.retry_after,
    )
}

/// Returns the heading and the text of an error page. The heading names the error, and the text
/// names the next step for the member.
pub fn heading_and_text(
    refusal: &ConsoleRefusal,
    words: &ConsoleWords,
) -> (&'static str, &'static str) {
    let words = &words.frame;
    match refusal.status {
        401 => (words.session_ended, words.sign_in_again),
        403 if refusal.is_of_another_session => (words.foreign_form, words.foreign_form_text),
        403 => (words.not_allowed, words.not_allowed_text),
        404 => (words.missing, words.missing_text),
        429 => (words.too_many, words.too_many_text),
        503 => (words.unavailable, words.unavailable_text),
        500.. => (words.broken, words.broken_text),
        _ => (words.refused, words.refused_text),
    }
}

/// Stores the selected language in a cookie. Redirects to the page on which the member selected it.
fn choose_language(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let chosen = request
            .form_value("language")
            .filter(|tag| LANGUAGES.contains(tag))
            .unwrap_or("en");
        let here = request
            .form_value("here")
            .filter(|path| path.is_empty() || is_path(path))
            .unwrap_or_default();
        Ok(people::with_language(
            reply::redirect(request, here),
            &request.service,
            chosen,
        ))
    })
}

/// Returns whether a text has the form of a path below the console. Such a path begins with a
/// slash, contains only letters, digits, slashes and hyphens, and has at most 500 characters.
fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && text.len() <= 500
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-'))
}

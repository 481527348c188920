//! The frame of the pages that members use outside of the console, such as the sign-in page. Such a
//! page consists of one card. The frame can show the signed-in member above the card. The template
//! is `crates/access/templates/people/frame.html`.

use std::sync::LazyLock;

use engine::pipeline::Service;
use texts::sign_in::{self, SignInWords};

use super::addresses::{SIGN_OUT, address};
use super::session::SignedIn;
use vestibule_http::browser::hash;

static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../../templates/people/people.css").replace('\n', ""));

/// The hash of the style sheet of the sign-in pages, in the notation of a content security policy.
pub(super) static STYLE_HASH: LazyLock<String> = LazyLock::new(|| hash(&STYLE));

/// The data of the template `people/frame.html`. Each template that extends this template has a
/// field `frame` with this data.
pub struct SignInFrame<'f> {
    pub title: &'f str,
    pub language: &'static str,
    pub words: &'static SignInWords,
    /// The signed-in member, whose name the frame shows. `None` if the frame shows no name.
    pub signed_in: Option<&'f SignedIn>,
    /// The URL to which the browser posts the form that signs the member out.
    pub sign_out: String,
    pub style: &'static str,
}

impl<'f> SignInFrame<'f> {
    /// Creates the frame of a page with a title, in a language.
    #[must_use]
    pub fn new(
        service: &Service,
        language: &'static str,
        title: &'f str,
        signed_in: Option<&'f SignedIn>,
    ) -> Self {
        Self {
            title,
            language,
            words: sign_in::table(language),
            signed_in,
            sign_out: address(service, SIGN_OUT),
            style: &STYLE,
        }
    }
}

//! What stands around a page for members: one card, with who is signed in above it.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::pipeline::Service;
use sha2::{Digest as _, Sha256};

use super::place::{SIGN_OUT, address};
use super::session::SignedIn;
use super::words::{self, Words};

/// How the pages look.
static STYLE: LazyLock<String> = LazyLock::new(|| include_str!("../../templates/people/people.css").replace('\n', ""));

/// The hash of that, as a policy names it.
pub(super) static STYLE_HASH: LazyLock<String> = LazyLock::new(|| format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(&*STYLE))));

/// What stands around a page: what `people/frame.html` needs of a template that extends it, in its field `frame`.
pub struct Frame<'f> {
    /// What the page is called.
    pub title: &'f str,
    /// The language of the page.
    pub language: &'static str,
    /// What is said around the page.
    pub words: &'static Words,
    /// Who is signed in, where that is to be shown.
    pub signed_in: Option<&'f SignedIn>,
    /// Where they sign out.
    pub sign_out: String,
    /// How the page looks.
    pub style: &'static str,
}

impl<'f> Frame<'f> {
    /// What stands around a page of a title, in a language.
    #[must_use]
    pub fn new(service: &Service, language: &'static str, title: &'f str, signed_in: Option<&'f SignedIn>) -> Self {
        Self { title, language, words: words::of(language), signed_in, sign_out: address(service, SIGN_OUT), style: &STYLE }
    }
}

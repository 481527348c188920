//! Where a member begins: the screens that are theirs.

use askama::Template;

use super::frame::Frame;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;
use crate::words::fill;

/// The first page.
pub static SCREEN: Screen = Screen {
    path: "",
    icon: "house",
    title: |words| words.frame.home,
    group: Group::Today,
    needs: None,
    pages: &[Page::get("getConsoleHome", "", home)],
};

#[derive(Template)]
#[template(path = "console/home.html")]
struct Home<'v> {
    frame: Frame<'v>,
    about: String,
}

fn home(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let words = &visit.words.frame;
        let title = fill(words.welcome, &[("name", visit.signed_in.name())]);
        let about = fill(words.welcome_text, &[("organization", &visit.signed_in.organization.settings.name)]);
        Ok(reply::of(visit, 200, &Home { frame: Frame::new(visit, title), about }))
    })
}

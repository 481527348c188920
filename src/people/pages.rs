//! The pages by which people come in and leave.

use askama::Template;
use axum::response::Response;
use engine::access::{Member, Organization};

use super::frame::Frame;
use super::members::Membership;
use super::place::{self, SIGN_IN, SIGN_OUT, address, returning};
use super::refusal::Refusal;
use super::reply::{leads_on, page, rendered};
use super::session::{SignedIn, called};
use super::tickets::Admission;
use super::visit::Visit;
use super::words::Notice;

/// Who is about to sign in, or is signed in, and where.
struct Person<'p> {
    organization: &'p str,
    /// Left out where the address says as much.
    name: Option<&'p str>,
    email: &'p str,
}

impl<'p> Person<'p> {
    fn of(organization: &'p Organization, member: &'p Member) -> Self {
        let name = Some(member.name.trim()).filter(|name| !name.is_empty());
        Self { organization: &organization.settings.name, name, email: &member.email }
    }
}

#[derive(Template)]
#[template(path = "people/ticket.html")]
struct TicketPage<'p> {
    frame: Frame<'p>,
    person: Person<'p>,
    action: String,
    ticket: &'p str,
    form: String,
}

/// The page of a ticket: who is about to sign in where, and one button.
pub(super) fn ticket(visit: &Visit, ticket: &str, admission: &Admission) -> Response {
    let forms = visit.forms_of(ticket);
    let template = TicketPage {
        frame: frame(visit, visit.words.sign_in),
        person: Person::of(&admission.organization, &admission.member),
        action: address(&visit.service, SIGN_IN),
        ticket,
        form: forms.token(),
    };
    forms.on(page(200, rendered(&template), visit.language, &leads_on(&visit.service, &admission.return_to)))
}

/// One of several organizations to choose.
struct Choice<'p> {
    organization: &'p str,
    /// As whom, where that is not the same everywhere.
    name: &'p str,
    ticket: String,
}

#[derive(Template)]
#[template(path = "people/choose.html")]
struct ChoosePage<'p> {
    frame: Frame<'p>,
    choices: Vec<Choice<'p>>,
    action: String,
    form: String,
}

/// Where somebody chooses one of the organizations that they are a member of, and goes on to a path of this service.
pub(super) fn choose(visit: &Visit, memberships: &[Membership], tickets: Vec<String>, return_to: &str) -> Response {
    let forms = visit.forms();
    let choices = memberships.iter().zip(tickets);
    let choices = choices.map(|(one, ticket)| Choice { organization: &one.organization.settings.name, name: called(&one.member), ticket });
    let template = ChoosePage {
        frame: frame(visit, visit.words.choose.0),
        choices: choices.collect(),
        action: address(&visit.service, SIGN_IN),
        form: forms.token(),
    };
    forms.on(page(200, rendered(&template), visit.language, &leads_on(&visit.service, return_to)))
}

#[derive(Template)]
#[template(path = "people/ways.html")]
struct WaysPage<'p> {
    frame: Frame<'p>,
    /// Where the provider is, where there is one.
    provider: Option<String>,
}

/// How people come in, for who comes without a ticket.
pub(super) fn ways(visit: &Visit, has_provider: bool) -> Response {
    let provider = has_provider.then(|| address(&visit.service, &returning(place::TO_PROVIDER, visit.return_to())));
    let template = WaysPage { frame: frame(visit, visit.words.sign_in), provider };
    page(200, rendered(&template), visit.language, &[])
}

#[derive(Template)]
#[template(path = "people/signed_in.html")]
struct SignedInPage<'p> {
    frame: Frame<'p>,
    person: Person<'p>,
    /// Where they wanted to go.
    go_on: Option<String>,
    sign_out: String,
    form: String,
}

/// Who is signed in, for who comes without a ticket.
pub(super) fn signed_in(visit: &Visit, signed_in: &SignedIn) -> Response {
    let template = SignedInPage {
        frame: frame(visit, visit.words.signed_in),
        person: Person::of(&signed_in.organization, &signed_in.member),
        go_on: visit.return_to().map(|path| address(&visit.service, path)),
        sign_out: address(&visit.service, SIGN_OUT),
        form: signed_in.form_token(),
    };
    page(200, rendered(&template), visit.language, &[])
}

#[derive(Template)]
#[template(path = "people/sign_out.html")]
struct SignOutPage<'p> {
    frame: Frame<'p>,
    person: Person<'p>,
    action: String,
    form: String,
}

/// Whether to sign out.
pub(super) fn sign_out(visit: &Visit, signed_in: &SignedIn) -> Response {
    let template = SignOutPage {
        frame: frame(visit, visit.words.sign_out_now.0),
        person: Person::of(&signed_in.organization, &signed_in.member),
        action: address(&visit.service, SIGN_OUT),
        form: signed_in.form_token(),
    };
    page(200, rendered(&template), visit.language, &[])
}

#[derive(Template)]
#[template(path = "people/notice.html")]
struct NoticePage<'p> {
    frame: Frame<'p>,
    notice: Notice,
    /// The one way on.
    to_sign_in: String,
}

/// That nobody is signed in any more.
pub(super) fn signed_out(visit: &Visit) -> Response {
    notice(visit, 200, visit.words.signed_out)
}

/// Why there is nothing else to see.
pub(super) fn refusal(visit: &Visit, refusal: &Refusal) -> Response {
    notice(visit, refusal.status(), refusal.notice(visit.words))
}

fn notice(visit: &Visit, status: u16, notice: Notice) -> Response {
    let to_sign_in = address(&visit.service, &returning(SIGN_IN, visit.return_to()));
    let template = NoticePage { frame: frame(visit, notice.0), notice, to_sign_in };
    page(status, rendered(&template), visit.language, &[])
}

/// What stands around these pages. They say in themselves who is signed in.
fn frame<'f>(visit: &Visit, title: &'f str) -> Frame<'f> {
    Frame::new(&visit.service, visit.language, title, None)
}

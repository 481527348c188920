//! The HTML pages for signing in and out. `routes.rs` decides which page a request gets.

use askama::Template;
use axum::response::Response;
use engine::access::{Member, Organization};
use texts::Notice;

use super::addresses::{self, SIGN_IN, SIGN_OUT, address, with_return_path};
use super::frame::SignInFrame;
use super::members::Membership;
use super::refusal::SignInError;
use super::reply::{form_redirect_sources, page, rendered};
use super::session::{SignedIn, display_name};
use super::tickets::TicketGrant;
use super::visit::SignInRequest;

/// The person who is about to sign in or is signed in, and their organization.
struct SignedInPerson<'p> {
    organization: &'p str,
    /// The name of the member; `None` for a member without a name.
    name: Option<&'p str>,
    email: &'p str,
}

impl<'p> SignedInPerson<'p> {
    fn of(organization: &'p Organization, member: &'p Member) -> Self {
        let name = Some(member.name.trim()).filter(|name| !name.is_empty());
        Self {
            organization: &organization.settings.name,
            name,
            email: &member.email,
        }
    }
}

#[derive(Template)]
#[template(path = "people/ticket.html")]
struct TicketPage<'p> {
    frame: SignInFrame<'p>,
    person: SignedInPerson<'p>,
    action: String,
    ticket: &'p str,
    form: String,
}

/// Returns the page that a sign-in link opens. It shows the member, the organization and one
/// button.
pub(super) fn ticket(visit: &SignInRequest, ticket: &str, grant: &TicketGrant) -> Response {
    let forms = visit.ticket_form_secret(ticket);
    let template = TicketPage {
        frame: frame(visit, visit.words.sign_in),
        person: SignedInPerson::of(&grant.organization, &grant.member),
        action: address(&visit.service, SIGN_IN),
        ticket,
        form: forms.token(),
    };
    forms.set_cookie_on(page(
        200,
        rendered(&template),
        visit.language,
        &form_redirect_sources(&visit.service, &grant.return_to),
    ))
}

/// One of the organizations among which a person chooses.
struct OrganizationChoice<'p> {
    organization: &'p str,
    name: &'p str,
    ticket: String,
}

#[derive(Template)]
#[template(path = "people/choose.html")]
struct ChoosePage<'p> {
    frame: SignInFrame<'p>,
    choices: Vec<OrganizationChoice<'p>>,
    action: String,
    form: String,
}

/// Returns the page on which a person chooses one of their organizations. After the choice, the
/// browser opens the return path of the sign-in.
pub(super) fn choose(
    visit: &SignInRequest,
    memberships: &[Membership],
    tickets: Vec<String>,
    return_to: &str,
) -> Response {
    let forms = visit.form_secret();
    let choices = memberships.iter().zip(tickets);
    let choices = choices.map(|(membership, ticket)| OrganizationChoice {
        organization: &membership.organization.settings.name,
        name: display_name(&membership.member),
        ticket,
    });
    let template = ChoosePage {
        frame: frame(visit, visit.words.choose.0),
        choices: choices.collect(),
        action: address(&visit.service, SIGN_IN),
        form: forms.token(),
    };
    forms.set_cookie_on(page(
        200,
        rendered(&template),
        visit.language,
        &form_redirect_sources(&visit.service, return_to),
    ))
}

#[derive(Template)]
#[template(path = "people/ways.html")]
struct WaysPage<'p> {
    frame: SignInFrame<'p>,
    /// The URL of the link that begins a sign-in with the OpenID provider; `None` without a
    /// provider.
    provider: Option<String>,
}

/// Returns the page that explains how to sign in. A visitor who is not signed in gets this page if
/// the URL that the visitor opens contains no sign-in ticket.
pub(super) fn ways(visit: &SignInRequest, has_provider: bool) -> Response {
    let provider = has_provider.then(|| {
        address(
            &visit.service,
            &with_return_path(addresses::SIGN_IN_WITH_PROVIDER, visit.return_to()),
        )
    });
    let template = WaysPage {
        frame: frame(visit, visit.words.sign_in),
        provider,
    };
    page(200, rendered(&template), visit.language, &[])
}

#[derive(Template)]
#[template(path = "people/signed_in.html")]
struct SignedInPage<'p> {
    frame: SignInFrame<'p>,
    person: SignedInPerson<'p>,
    /// The URL of the page to which the member wanted to go before the sign-in. The page shows a
    /// link to it. `None` if the request had no return path.
    go_on: Option<String>,
    sign_out: String,
    form: String,
}

/// Returns the page that shows who is signed in. A visitor who is signed in gets this page if the
/// address contains no sign-in ticket.
pub(super) fn signed_in(visit: &SignInRequest, signed_in: &SignedIn) -> Response {
    let template = SignedInPage {
        frame: frame(visit, visit.words.signed_in),
        person: SignedInPerson::of(&signed_in.organization, &signed_in.member),
        go_on: visit.return_to().map(|path| address(&visit.service, path)),
        sign_out: address(&visit.service, SIGN_OUT),
        form: signed_in.form_token(),
    };
    page(200, rendered(&template), visit.language, &[])
}

#[derive(Template)]
#[template(path = "people/sign_out.html")]
struct SignOutPage<'p> {
    frame: SignInFrame<'p>,
    person: SignedInPerson<'p>,
    action: String,
    form: String,
}

/// Returns the page that asks whether to sign out.
pub(super) fn sign_out(visit: &SignInRequest, signed_in: &SignedIn) -> Response {
    let template = SignOutPage {
        frame: frame(visit, visit.words.sign_out_now.0),
        person: SignedInPerson::of(&signed_in.organization, &signed_in.member),
        action: address(&visit.service, SIGN_OUT),
        form: signed_in.form_token(),
    };
    page(200, rendered(&template), visit.language, &[])
}

#[derive(Template)]
#[template(path = "people/notice.html")]
struct NoticePage<'p> {
    frame: SignInFrame<'p>,
    notice: Notice,
    /// The address of the sign-in page.
    to_sign_in: String,
}

pub(super) fn signed_out(visit: &SignInRequest) -> Response {
    notice(visit, 200, visit.words.signed_out)
}

/// Returns the page for a sign-in that was refused.
pub(super) fn refusal(visit: &SignInRequest, refusal: &SignInError) -> Response {
    notice(visit, refusal.status(), refusal.notice(visit.words))
}

fn notice(visit: &SignInRequest, status: u16, notice: Notice) -> Response {
    let to_sign_in = address(
        &visit.service,
        &with_return_path(SIGN_IN, visit.return_to()),
    );
    let template = NoticePage {
        frame: frame(visit, notice.0),
        notice,
        to_sign_in,
    };
    page(status, rendered(&template), visit.language, &[])
}

/// Returns the frame of the sign-in pages. The frame does not show the signed-in member, because
/// the content of these pages shows the member.
fn frame<'f>(visit: &SignInRequest, title: &'f str) -> SignInFrame<'f> {
    SignInFrame::new(&visit.service, visit.language, title, None)
}

//! The guest's view for a page of this service. Pages call this operation in this process. It has no
//! address, but it runs through the pipeline as the operations of the guest interface do. It chooses
//! the language of the page, so that a page needs one call.

use std::sync::{Arc, LazyLock};

use engine::access::Credential;
use engine::context::Context;
use engine::error::Result;
use engine::field::Language;
use engine::language::{is_same, lenient};
use engine::moment::Moment;
use engine::operation::{CacheBasis, Operation, OperationName};
use http::Method;
use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::languages;
use super::operations::{own_reservation, view_at};
use super::preview::{self, PreviewMoment};
use super::setup;
use super::stay::reservation;
use super::view::GuestView;
use crate::records::Guest;
use crate::translations::ENGLISH;

/// The type of the answer of [`GET_PAGE_VIEW`].
pub(crate) const PAGE_VIEW: OperationName<PageView> = OperationName::new("getPageView");

/// Returns the guest's view for a page.
pub(crate) static GET_PAGE_VIEW: LazyLock<Operation> = LazyLock::new(|| {
    Operation::guest(PAGE_VIEW.id(), Method::GET, "/stays/{token}/page")
        .cached(CacheBasis::Everything)
        .run_as(PAGE_VIEW, page_view)
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetPageView {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// The language in the address of the page.
    #[serde(default)]
    language: Option<Language>,
    /// The languages that the browser accepts, the most wanted first.
    #[serde(default)]
    accepted: Vec<Language>,
    /// Another moment, as `getStay` takes it.
    #[serde(default)]
    at: Option<Moment>,
    /// Another moment of a preview, on the flat's clock. Ignored for a stay.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    local_time: Option<DateTime>,
}

/// The guest's view, and the language that was chosen for it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PageView {
    #[serde(serialize_with = "shared")]
    pub view: Arc<GuestView>,
    /// The language of the page, as a BCP 47 tag.
    pub language: String,
}

fn shared<S: Serializer>(view: &Arc<GuestView>, serializer: S) -> Result<S::Ok, S::Error> {
    view.as_ref().serialize(serializer)
}

fn page_view(context: &mut Context<'_, '_>, input: GetPageView) -> Result<PageView> {
    let asked = input.language.as_deref();
    if let Credential::Preview { opens } = context.access.credential {
        let at = match (input.at, input.local_time) {
            (Some(at), _) => Some(PreviewMoment::Exact(at.0)),
            (None, time) => time.map(PreviewMoment::Local),
        };
        let view = preview::view(context, opens, asked, at)?;
        // A preview's guest speaks the language of the preview.
        let language = own_language(&view.reservation.guest);
        return Ok(PageView {
            language: language.unwrap_or_else(|| ENGLISH.to_owned()),
            view: Arc::new(view),
        });
    }
    let id = own_reservation(context)?;
    let reservation = reservation(context, id)?;
    let language = asked
        .map(str::to_owned)
        .or_else(|| own_language(&reservation.guest))
        .unwrap_or_else(|| {
            accepted_language(&input.accepted, &context.organization.settings.languages)
        });
    let (stay, setup) = setup::visit_of(context, id, reservation, Some(&language))?;
    let view = view_at(context, stay, &setup, input.at.map(|at| at.0))?;
    Ok(PageView {
        view: Arc::new(view),
        language,
    })
}

/// Returns the language of a guest; `None` where it is not known or no tag.
fn own_language(guest: &Guest) -> Option<String> {
    guest.language.as_deref().and_then(lenient)
}

/// Returns the first accepted language that has texts, else English.
fn accepted_language(accepted: &[Language], organization: &[String]) -> String {
    languages::best(accepted.iter().map(|tag| &**tag), organization)
        .filter(|tag| !is_same(tag, ENGLISH))
        .unwrap_or(ENGLISH)
        .to_owned()
}

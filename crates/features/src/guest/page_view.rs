//! The operation that reads the guest's view for a page that this service renders. The guest
//! interface does not offer this operation. Pages call it in this process, through the same
//! pipeline as the operations of the guest interface. The operation also chooses the language of
//! the page, so a page needs only one call.

use std::sync::{Arc, LazyLock};

use engine::access::Credential;
use engine::context::Context;
use engine::error::Result;
use engine::field::Language;
use engine::language::{is_same, parse_lenient};
use engine::moment::Moment;
use engine::operation::{CacheBasis, Operation, OperationName};
use http::Method;
use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::languages;
use super::operations::{own_reservation, view_at};
use super::preview::{self, PreviewTime};
use super::setup;
use super::stay::reservation;
use super::view::GuestView;
use crate::records::Guest;
use crate::translations::ENGLISH;

/// The name of [`GET_PAGE_VIEW`], with the type of its response.
pub const PAGE_VIEW: OperationName<PageView> = OperationName::new("getPageView");

/// Reads the guest's view for a page, and chooses its language.
pub static GET_PAGE_VIEW: LazyLock<Operation> = LazyLock::new(|| {
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
    /// The languages that the browser accepts, the preferred one first.
    #[serde(default)]
    accepted: Vec<Language>,
    /// The time at which the view is read, as `at` of `getStay`. Left out: now.
    #[serde(default)]
    at: Option<Moment>,
    /// The time at which a preview is shown, as a local time in the flat's time zone. Ignored for a
    /// stay.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    local_time: Option<DateTime>,
}

/// The guest's view, and the language that was chosen for it.
#[derive(Serialize, JsonSchema)]
pub struct PageView {
    #[serde(serialize_with = "shared")]
    pub view: Arc<GuestView>,
    /// The language of the page, as a BCP 47 tag.
    pub language: String,
}

fn shared<S: Serializer>(view: &Arc<GuestView>, serializer: S) -> Result<S::Ok, S::Error> {
    view.as_ref().serialize(serializer)
}

fn page_view(context: &mut Context<'_, '_>, input: GetPageView) -> Result<PageView> {
    let requested_language = input.language.as_deref();
    if let Credential::Preview { opens } = context.access.credential {
        let at = match (input.at, input.local_time) {
            (Some(at), _) => Some(PreviewTime::Exact(at.0)),
            (None, time) => time.map(PreviewTime::Local),
        };
        let view = preview::view(context, opens, requested_language, at)?;
        // In the view of a preview, `preview::view` has set the guest's language to the language of
        // the preview.
        let language = own_language(&view.reservation.guest);
        return Ok(PageView {
            language: language.unwrap_or_else(|| ENGLISH.to_owned()),
            view: Arc::new(view),
        });
    }
    let id = own_reservation(context)?;
    let reservation = reservation(context, id)?;
    let language = requested_language
        .map(str::to_owned)
        .or_else(|| own_language(&reservation.guest))
        .unwrap_or_else(|| {
            accepted_language(&input.accepted, &context.organization.settings.languages)
        });
    let (stay, setup) = setup::load_setup_for(context, id, reservation, Some(&language))?;
    let view = view_at(context, stay, &setup, input.at.map(|at| at.0))?;
    Ok(PageView {
        view: Arc::new(view),
        language,
    })
}

/// Returns the language of a guest; `None` if it is unknown or not a language tag.
fn own_language(guest: &Guest) -> Option<String> {
    guest.language.as_deref().and_then(parse_lenient)
}

/// Returns the first language in `accepted` in which the organization or this service has texts. If
/// there is none, returns English.
fn accepted_language(accepted: &[Language], organization: &[String]) -> String {
    languages::best_language(accepted.iter().map(|tag| &**tag), organization)
        .filter(|tag| !is_same(tag, ENGLISH))
        .unwrap_or(ENGLISH)
        .to_owned()
}

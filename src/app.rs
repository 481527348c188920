//! All chapters, put together: the only place that knows every one of them.

use std::sync::{Arc, LazyLock};

use engine::app::{About, Annex, App};
use engine::chapter::{Chapter, Routes, assemble};
use engine::operation::Surface;
use engine::pipeline::Service;
use engine::surface::Others;
use serde_json::Value;

use crate::{
    console, events, guest, guides, manuals, oauth, page, people, platform, portals, precheck, records, scopes, search, translations,
};

/// The chapters, in the order of the document: what integrators ask for first stands first.
static CHAPTERS: [&Chapter; 14] = [
    &precheck::CHAPTER,
    &manuals::CHAPTER,
    &portals::CHAPTER,
    &scopes::CHAPTER,
    &search::CHAPTER,
    &translations::CHAPTER,
    &events::CHAPTER,
    &guest::CHAPTER,
    &page::CHAPTER,
    &records::CHAPTER,
    &platform::CHAPTER,
    &people::CHAPTER,
    &oauth::CHAPTER,
    &console::CHAPTER,
];

/// What the documents say of the interfaces.
fn interface(surface: Surface) -> (&'static str, &'static str) {
    match surface {
        Surface::Public => ("Vestibule", PUBLIC),
        Surface::Platform => ("Vestibule, platform interface", PLATFORM),
        Surface::Guest => ("Vestibule, guest interface", GUEST),
    }
}

const PUBLIC: &str = "\
Configures what the guests of short-term rentals see in their portal: pre-check-in steps, house manuals, guest portals and \
their brandings, and which properties each of them serves. Notifies other systems by signed webhooks.

Every answer is an envelope: `data` and `meta`, or `error` and `meta`. A 400 names every failing field at once in \
`error.details.issues`. Tell errors apart by `error.type` and the status; wording may change.

Undeclared query parameters are ignored; a field that a body does not know is refused. A repeated query key is a list.

Retry 429 after `Retry-After`, and 500, 502 and 503 with exponential back-off. GET is safe to retry; a POST is with an \
`Idempotency-Key`.

Guides: [assistants](/docs/assistants.md), [portals](/docs/portals.md), [pre-check-in](/docs/precheckin.md), [house \
manuals](/docs/manuals.md), [webhooks](/docs/webhooks.md); all of them are in [llms.txt](/llms.txt).";

const PLATFORM: &str = "\
For the operations platform around Vestibule: organizations, their members, API keys and apps, the records that are kept in step \
(properties, reservations, tasks and the rest), links for guests, and what guests did.

Its bearer is the platform key. PUT creates or replaces; ids are chosen by the caller. Answers and errors have the envelope of the \
public interface. A sync is applied whole or not at all; what a record of each kind holds is described by the schemas whose names \
end in `Data`, and fields they do not know are kept.";

const GUEST: &str = "\
For a guest's browser: what this guest of this flat sees now, the steps they complete before they arrive, their files and \
messages. The token of the stay's link is in the path and is all that it takes.

Answers and errors have the envelope of the public interface. Texts are in the guest's language.";

/// What a client tells its model about all of the tools together.
const INSTRUCTIONS: &str = "\
Vestibule configures the portal that guests of short-term rentals get on their phone: portals and their brandings, steps to complete \
before arrival (pre-check-in), house manuals, and which properties (flats) each of them is for. Ids are found by name with `search`. \
A step or manual reaches guests when it is active and assigned (`addEntityScopes`) to a property, a group, a tag or a portal. Why a guest \
does or does not see something says `explainGuestView`; ask it before changing anything. Arguments are one flat object; results are \
{data, pagination?}. A refusal is an error result {type, code, message, details?}: details.issues names every wrong field, \
details.retryAfterSeconds how long to wait.";

/// Which tool finds what a refusal calls by its name.
const FINDERS: [(&str, &str); 18] = [
    ("Portal", "listPortals"),
    ("Branding", "listPortalBrandings"),
    ("Pre-check step", "listPrecheckSteps"),
    ("Step", "getPrecheckinSubmission"),
    ("Manual", "listPortalManuals"),
    ("Manual category", "listPortalManualCategories"),
    ("Property", "listProperties"),
    ("Property group", "listPropertyGroups"),
    ("Tag", "listTags"),
    ("Reservation", "listReservations"),
    ("Custom URL", "listCustomUrls"),
    ("Payment account", "listPaymentAccounts"),
    ("Fee product", "listFeeProducts"),
    ("Custom field", "listCustomFields"),
    ("Background check account", "listBackgroundCheckAccounts"),
    ("Task", "listTasks"),
    ("Device", "listDevices"),
    ("Instruction", "listInstructions"),
];

/// What a model is told to do now that a tool was refused.
fn advice(error: &Value) -> Option<String> {
    let message = error["message"].as_str()?;
    match error["code"].as_str()? {
        "NOT_FOUND" => Some(match (message.strip_suffix(" not found."), message.starts_with("Translation")) {
            (_, true) => {
                "A field such as `titleId` or `textMlTextId` holds the id of a text; `createTranslation` makes a new one.".to_owned()
            }
            (Some(what), _) => match FINDERS.iter().find(|(known, _)| *known == what) {
                Some((_, tool)) => format!("Find the id with `search` or `{tool}`, and call again."),
                None => "Find the id with `search` or the tool that lists such things, and call again.".to_owned(),
            },
            (None, _) => return None,
        }),
        "FORBIDDEN" if message.starts_with("Missing permission") => Some(
            "This credential may not do that: tools/list names what it may. Someone who administers the organization can allow it."
                .to_owned(),
        ),
        _ => None,
    }
}

/// What is said of the product as a whole.
const ABOUT: About = About {
    interface,
    instructions: INSTRUCTIONS,
    advice,
    annex: Annex { parameters: events::parameters, schemas: events::schemas, webhooks: events::webhooks },
    link: guest::LINK,
};

/// The product.
#[must_use]
pub fn app() -> &'static App {
    static APP: LazyLock<App> = LazyLock::new(|| {
        let mut app = assemble(&CHAPTERS, ABOUT);
        app.statements.extend(delivery::statements());
        app
    });
    &APP
}

/// What is answered besides operations: by the chapters, and the guides.
pub(crate) fn routes(service: &Arc<Service>) -> Others {
    let of_all = |of: fn(&Chapter) -> Option<Routes>| CHAPTERS.iter().filter_map(move |chapter| of(chapter)).map(|routes| routes(service));
    Others {
        within: of_all(|chapter| chapter.routes).chain([guides::router(service)]).collect(),
        open: of_all(|chapter| chapter.open_routes).collect(),
    }
}

#[cfg(test)]
mod tests {
    use engine::surface;
    use strum::VariantArray as _;

    use super::*;
    use crate::translations::{Shows, SourceTable};

    #[test]
    fn every_source_table_has_its_chapter() {
        for source in SourceTable::VARIANTS {
            let chapters = app().lists.all::<&'static dyn Shows>().iter().filter(|chapter| chapter.sources().contains(source));
            assert_eq!(chapters.count(), 1, "{}", source.as_ref());
            assert_eq!(source.as_ref().parse(), Ok(*source));
        }
    }

    /// Operations that an assistant does not need, and what does what they do.
    const ELSEWHERE: [(&str, &str); 4] = [
        ("previewGuestView", "createPortalPreview, once the settings are saved"),
        ("listShownTexts", "listTranslations, of what the lists of steps, manuals and portals name"),
        ("listTranslationVersions", "listTranslationEntries, of each"),
        ("countReachedProperties", "listEntityScopes"),
    ];

    #[test]
    fn every_public_operation_is_a_tool_but_for_reasons() {
        let tools = surface::tools(app());
        assert!(ELSEWHERE.iter().all(|(id, _)| app().operations.iter().any(|operation| operation.id == *id)));
        for operation in &app().operations {
            let is_of_webhooks = operation.path.starts_with("/webhook-subscriptions");
            let changes_keys = operation.path.starts_with("/api-keys") && operation.method != http::Method::GET;
            let is_elsewhere = ELSEWHERE.iter().any(|(id, _)| *id == operation.id);
            let wanted = operation.surface == Surface::Public && !is_of_webhooks && !changes_keys && !is_elsewhere;
            assert_eq!(tools.iter().any(|tool| tool.name == operation.id), wanted, "{}", operation.id);
        }
    }

    #[test]
    fn schemas_are_of_objects_and_leave_out_what_tools_cannot_send() {
        let tools = surface::tools(app());
        for tool in &tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert!(jsonschema::validator_for(&tool.schema_as_json_value()).is_ok(), "{}", tool.name);
        }
        let update = tools.iter().find(|tool| tool.name == "updatePortal").unwrap();
        assert!(update.input_schema["properties"].get("expectedUpdatedAt").is_none());
        assert!(update.input_schema["properties"].get("id").is_some());
    }
}

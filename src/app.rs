//! All chapters, put together: the only place that knows every one of them.

use std::sync::{Arc, LazyLock};

use engine::app::{About, Annex, App};
use engine::chapter::{Chapter, Routes, assemble};
use engine::pipeline::Service;
use engine::surface::Others;

use crate::{events, guest, manuals, oauth, page, people, platform, portals, precheck, records, scopes, search, translations};

/// The chapters, in the order of the document: what integrators ask for first stands first.
static CHAPTERS: [&Chapter; 13] = [
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
];

/// What the document says of the interface as a whole.
const DESCRIPTION: &str = "\
Configures what the guests of short-term rentals see in their portal: pre-check-in steps, house manuals, guest portals and \
their brandings, and which properties each of them serves. Notifies other systems by signed webhooks.

Every answer is an envelope: `data` and `meta`, or `error` and `meta`. A 400 names every failing field at once in \
`error.details.issues`. Tell errors apart by `error.type` and the status; wording may change.

Undeclared query parameters are ignored; a field that a body does not know is refused. A repeated query key is a list.

Retry 429 after `Retry-After`, and 500, 502 and 503 with exponential back-off. GET is safe to retry; a POST is with an \
`Idempotency-Key`.";

/// What a client tells its model about all of the tools together.
const INSTRUCTIONS: &str = "Vestibule configures what guests of short-term rentals see in their portal. \
    Every tool is an operation of its REST interface: arguments are the path, query and body fields side by side, results are \
    {data, pagination?}. A refusal is an error result with {type, code, message, details?}; details.issues names every failing field.";

/// What is said of the product as a whole.
const ABOUT: About = About {
    description: DESCRIPTION,
    instructions: INSTRUCTIONS,
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

/// What the chapters answer besides operations.
pub(crate) fn routes(service: &Arc<Service>) -> Others {
    let of_all =
        |of: fn(&Chapter) -> Option<Routes>| CHAPTERS.iter().filter_map(|chapter| of(chapter)).map(|routes| routes(service)).collect();
    Others { within: of_all(|chapter| chapter.routes), open: of_all(|chapter| chapter.open_routes) }
}

#[cfg(test)]
mod tests {
    use engine::operation::Surface;
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

    #[test]
    fn every_public_operation_but_those_of_webhooks_is_a_tool() {
        let tools = surface::tools(app());
        for operation in &app().operations {
            let wanted = operation.surface == Surface::Public && !operation.path.starts_with("/webhook-subscriptions");
            assert_eq!(tools.iter().any(|tool| tool.name == operation.id), wanted, "{}", operation.id);
        }
    }

    #[test]
    fn schemas_are_of_objects_and_leave_out_what_tools_cannot_send() {
        let tools = surface::tools(app());
        for tool in &tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "object", "{}", tool.name);
            assert!(jsonschema::validator_for(&tool.schema_as_json_value()).is_ok(), "{}", tool.name);
        }
        let update = tools.iter().find(|tool| tool.name == "updatePortal").unwrap();
        assert!(update.input_schema["properties"].get("expectedUpdatedAt").is_none());
        assert!(update.input_schema["properties"].get("id").is_some());
    }
}

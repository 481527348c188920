//! Puts all modules together: the list of modules, the texts of the published documents, and the
//! paths that a proxy exposes. Only this module and `crate::server` import every other module.

use std::sync::{Arc, LazyLock};

use access::{oauth, people};
use engine::app::{About, App, DocumentAdditions};
use engine::module::{Module, Routes, assemble};
use engine::operation::Surface;
use engine::pipeline::Service;
use features::{
    calendars, devices, events, guest, manuals, platform, portals, precheck, records, scopes,
    search, tables, translations,
};
use serde_json::Value;
use vestibule_http::surface::{self, OtherRoutes};

use crate::guides;

/// The modules, in the order in which the published documents list their operations. The modules
/// that integrators need first are at the beginning.
static MODULES: [&Module; 17] = [
    &precheck::MODULE,
    &manuals::MODULE,
    &portals::MODULE,
    &scopes::MODULE,
    &search::MODULE,
    &translations::MODULE,
    &events::MODULE,
    &guest::MODULE,
    &page::MODULE,
    &records::MODULE,
    &devices::MODULE,
    &platform::MODULE,
    &tables::MODULE,
    &calendars::MODULE,
    &people::MODULE,
    &oauth::MODULE,
    &vestibule_console::MODULE,
];

/// Returns the title and the description of an interface's OpenAPI document.
fn interface(surface: Surface) -> (&'static str, &'static str) {
    match surface {
        Surface::Public => ("Vestibule", PUBLIC),
        Surface::Platform => ("Vestibule, platform interface", PLATFORM),
        Surface::Guest => ("Vestibule, guest interface", GUEST),
    }
}

/// The description of the public interface.
const PUBLIC: &str = "Configures what the guests of short-term rentals see in their portal: \
    pre-check-in steps, house manuals, guest portals and their brandings, and which properties \
    each of them serves. Notifies other systems by signed webhooks.

Every answer is an envelope: `data` and `meta`, or `error` and `meta`. A 400 names every failing \
    field at once in `error.details.issues`. Tell errors apart by `error.type` and the status; \
    wording may change.

Undeclared query parameters are ignored; a field that a body does not know is refused. A repeated \
    query key is a list.

Retry 429 after `Retry-After`, and 500, 502 and 503 with exponential back-off. GET is safe to \
    retry; a POST is with an `Idempotency-Key`.

Guides: [assistants](/docs/how-to/connect-an-assistant.md), \
    [webhooks](/docs/how-to/receive-webhooks.md), [pre-check-in](/docs/reference/pre-check-in.md), \
    [house manuals](/docs/reference/manuals.md), [rules](/docs/reference/rules/README.md); all of \
    them are in [llms.txt](/llms.txt).";

/// The description of the platform interface.
const PLATFORM: &str = "For the operations platform around Vestibule: organizations, their \
    members, API keys and apps, the records that are kept in step (properties, reservations, tasks \
    and the rest), links for guests, and what guests did.

Its bearer is the platform key. PUT creates or replaces; ids are chosen by the caller. Answers and \
    errors have the envelope of the public interface. A sync is applied whole or not at all; what \
    a record of each kind holds is described by the schemas whose names end in `Data`, and fields \
    they do not know are kept.";

/// The description of the guest interface.
const GUEST: &str = "For a guest's browser: what this guest of this flat sees now, the steps they \
    complete before they arrive, their files and messages. The token of the stay's link is in the \
    path and is all that it takes.

Answers and errors have the envelope of the public interface. Texts are in the guest's language.";

/// The instructions that an MCP client gives its model about all tools.
const INSTRUCTIONS: &str = "Vestibule configures the portal that guests of short-term rentals get \
    on their phone: portals and their brandings, steps to complete before arrival (pre-check-in), \
    house manuals, and which properties (flats) each of them is for. Ids are found by name with \
    `search`. A step or manual reaches guests when it is active and assigned (`addEntityScopes`) \
    to a property, a group, a tag or a portal. Why a guest does or does not see something says \
    `explainGuestView`; ask it before changing anything. Arguments are one flat object; results \
    are {data, pagination?}; a field that is left out of a result is null, false or an empty list. \
    A refusal is an error result {type, code, message, details?}: details.issues names every wrong \
    field, details.retryAfterSeconds how long to wait.";

/// For each object name in a "not found" error, the tool that finds objects of this kind.
const FIND_TOOLS: [(&str, &str); 19] = [
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
    ("Calendar feed", "listCalendarFeeds"),
];

/// Returns advice for a model whose tool call failed, or `None` if there is no advice for the
/// error.
fn advice(error: &Value) -> Option<String> {
    let message = error["message"].as_str()?;
    match error["code"].as_str()? {
        "NOT_FOUND" => Some(
            match (
                message.strip_suffix(" not found."),
                message.starts_with("Translation"),
            ) {
                (_, true) => "A field such as `titleId` or `textMlTextId` holds the id of a text; \
                    `createTranslation` creates a new one."
                    .to_owned(),
                (Some(object), _) => match FIND_TOOLS.iter().find(|(name, _)| *name == object) {
                    Some((_, tool)) => {
                        format!("Find the id with `search` or `{tool}`, and call again.")
                    }
                    None => "Find the id with `search` or the tool that lists such objects, and \
                        call again."
                        .to_owned(),
                },
                (None, _) => return None,
            },
        ),
        "FORBIDDEN" if message.starts_with("Missing permission") => Some(
            "This credential may not do this. tools/list names the tools that it may use. A \
                member who manages the organization can give the permission."
                .to_owned(),
        ),
        _ => None,
    }
}

/// The product's data and functions that the engine needs: titles, instructions and advice,
/// additions to the OpenAPI documents, and the look-up of guests' tokens.
const ABOUT: About = About {
    interface,
    instructions: INSTRUCTIONS,
    advice,
    annex: DocumentAdditions {
        parameters: events::parameters,
        schemas: |surface| {
            let event_schemas = events::schemas(surface).into_iter();
            event_schemas.chain(platform::schemas(surface)).collect()
        },
        webhooks: events::webhooks,
    },
    link: guest::LINK,
};

/// Returns the application: all modules with their operations and texts.
#[must_use]
pub fn app() -> &'static App {
    static APP: LazyLock<App> = LazyLock::new(|| {
        let mut app = assemble(&MODULES, ABOUT);
        app.statements.extend(delivery::statements());
        app
    });
    &APP
}

/// The paths for guests, members, integrators and apps. Each entry includes every path below it. A
/// proxy exposes these paths and `/` itself, which redirects a browser to the console, and nothing
/// else. A test compares every file in `deploy/` with this list.
pub const PUBLIC_PATHS: [&str; 15] = [
    "/api/v1",
    "/mcp",
    "/guest/v1",
    "/stay",
    "/files",
    "/sign-in",
    "/sign-out",
    "/oauth",
    "/.well-known",
    "/console",
    "/docs",
    "/llms.txt",
    "/favicon.ico",
    "/passes/v1",
    "/setup",
];

/// The paths for the platform and for monitoring. Each entry includes every path below it.
pub const INTERNAL_PATHS: [&str; 5] = [
    "/platform/v1",
    "/healthz",
    "/readyz",
    "/metrics",
    "/domain-check",
];

/// Returns the paths of all routes of a service, with `{…}` for a parameter.
pub fn paths(service: &Arc<Service>) -> Result<Vec<String>, String> {
    let metrics = surface::Metrics::install()?;
    let interface = surface::router(service, metrics, &[], routes(service, &[]))?;
    Ok(interface.paths())
}

/// Returns the routes that are not operations: those of the tools, of the modules and of the
/// guides. Pages of the origins in `origins` may call the tools.
pub(crate) fn routes(service: &Arc<Service>, origins: &[String]) -> OtherRoutes {
    let routers = |select: fn(&Module) -> Option<Routes>| {
        MODULES
            .iter()
            .filter_map(move |module| select(module))
            .map(|routes| routes(service))
    };
    OtherRoutes {
        within: routers(|module| module.routes)
            .chain([
                vestibule_tools::router(service.clone(), origins),
                guides::router(service),
            ])
            .collect(),
        open: routers(|module| module.open_routes).collect(),
        gate: Some(guest::gate),
    }
}

#[cfg(test)]
mod tests {
    use features::translations::{SourceTable, TextRules};
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn every_source_table_belongs_to_exactly_one_module() {
        for source in SourceTable::VARIANTS {
            let modules = app()
                .lists
                .all::<&'static dyn TextRules>()
                .iter()
                .filter(|module| module.sources().contains(source));
            assert_eq!(modules.count(), 1, "{}", source.as_ref());
            assert_eq!(source.as_ref().parse(), Ok(*source));
        }
    }

    /// Operations that are not tools, each with the tool to use instead.
    const NOT_TOOLS: [(&str, &str); 9] = [
        (
            "previewGuestView",
            "createPortalPreview, once the settings are saved",
        ),
        (
            "listShownTexts",
            "listTranslations, of what the lists of steps, manuals and portals name",
        ),
        ("listTranslationVersions", "listTranslationEntries, of each"),
        ("updateRecord", "putRecords"),
        ("listRecords", "the list of each kind"),
        ("getRecord", "the list of each kind"),
        ("countReachedProperties", "listEntityScopes"),
        ("getPropertySetup", "explainGuestView, of a stay there"),
        ("getPrecheckStepGuestFields", "getPrecheckStep"),
    ];

    #[test]
    fn every_public_operation_is_a_tool_except_listed_exceptions() {
        let tools = vestibule_tools::describe_all(app());
        assert!(
            NOT_TOOLS
                .iter()
                .all(|(id, _)| app().operations.iter().any(|operation| operation.id == *id))
        );
        for operation in &app().operations {
            let is_about_webhooks = operation.path.starts_with("/webhook-subscriptions");
            let changes_keys =
                operation.path.starts_with("/api-keys") && operation.method != http::Method::GET;
            let changes_members =
                operation.path.starts_with("/members") && operation.method != http::Method::GET;
            let is_exception = NOT_TOOLS.iter().any(|(id, _)| *id == operation.id);
            let expected = operation.surface == Surface::Public
                && !is_about_webhooks
                && !changes_keys
                && !changes_members
                && !is_exception;
            assert_eq!(
                tools.iter().any(|tool| tool.name == operation.id),
                expected,
                "{}",
                operation.id
            );
        }
    }

    #[test]
    fn tool_schemas_are_objects_without_unusable_fields() {
        let tools = vestibule_tools::describe_all(app());
        for tool in &tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert!(
                jsonschema::validator_for(&tool.schema_as_json_value()).is_ok(),
                "{}",
                tool.name
            );
        }
        let update = tools
            .iter()
            .find(|tool| tool.name == "updatePortal")
            .unwrap();
        assert!(
            update.input_schema["properties"]
                .get("expectedUpdatedAt")
                .is_none()
        );
        assert!(update.input_schema["properties"].get("id").is_some());
    }
}

//! The consent page: which app asks, for what, and the member's decision. The page is shown every
//! time. An earlier consent does not justify further access, and a page that approves by itself
//! could be abused (RFC 8252, section 8.6).

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access::{Permission, Resource};
use engine::audit::{self, Actor, AuditEntryRow, Change, Target};
use engine::error::{Error, Result};
use engine::pipeline::Service;
use engine::values;
use serde::Deserialize;
use serde_json::json;
use store::Json;
use texts::consent::{ConsentWords, table};
use uuid::Uuid;
use vestibule_http::surface::{note, request_id};

use super::authorize::{AnswerAddress, AuthorizationRequest, InvalidClient, NAMES, OauthRequest};
use super::client::{AppOrigin, Client, ClientId};
use super::grant::{self, Allowed};
use super::parameters::Parameters;
use super::problem::PageProblem;
use super::refusal::{Code, OauthRefusal};
use super::{code, paths, redirect};
use crate::people::{self, SignInFrame, SignedIn};

store::statements! {
    /// Some properties.
    PROPERTIES = "select doc from record where organization_id = ?1 and kind = 'property' and id = any(?2) order by created_at, id limit ?3";
}

/// Maximum number of properties that are named; the rest is counted.
const NAMED: u32 = 8;

/// The consent page.
#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage<'p> {
    frame: SignInFrame<'p>,
    words: &'static ConsentWords,
    /// The name of the app.
    app: String,
    /// A warning about an app whose name is unverified.
    caution: Option<String>,
    /// The destination of the redirect.
    leads_to: String,
    organization: &'p str,
    member: String,
    through: &'static str,
    properties: String,
    granted: Vec<&'static str>,
    not_granted: Vec<&'static str>,
    lasts: String,
    action: String,
    form: String,
    hidden: Vec<(&'p str, &'p str)>,
}

/// Shows the consent page.
pub(super) async fn show(
    visit: &OauthRequest,
    way: &AnswerAddress,
    asked: &AuthorizationRequest,
    signed_in: &SignedIn,
) -> Result<Response, InvalidClient> {
    let (service, language) = (
        &visit.service,
        people::language(&visit.service, &visit.headers),
    );
    let words = table(language);
    let organization = signed_in.organization.settings.name.as_str();
    let given = asked.scopes.held(&signed_in.member.permissions);
    let text = |permissions: &[Permission]| {
        permissions
            .iter()
            .map(|permission| describe(words, *permission))
            .collect::<Vec<_>>()
    };
    let not_given: Vec<_> = asked
        .scopes
        .permissions()
        .iter()
        .copied()
        .filter(|asked| !given.permissions().contains(asked))
        .collect();
    let app = way.client.name();
    let title = words.title.replace("{app}", &app);
    let host = redirect::host(&way.redirect_uri);
    let page = ConsentPage {
        caution: caution(words, &way.client),
        leads_to: if redirect::is_local(&way.redirect_uri) {
            words.local.replace("{host}", &host)
        } else {
            host
        },
        organization,
        member: signed_in.member.email.clone(),
        through: match asked.resource {
            Resource::Api => words.through_api,
            Resource::Mcp | Resource::McpReadOnly => words.through_tools,
        },
        properties: properties(service, words, signed_in).await?,
        granted: text(given.permissions()),
        not_granted: text(&not_given),
        lasts: words.lasts.replace("{organization}", organization),
        action: people::address(service, paths::CONSENT),
        form: signed_in.form_token(),
        hidden: visit.parameters.all(&NAMES).collect(),
        frame: SignInFrame::new(service, language, &title, Some(signed_in)),
        words,
        app,
    };
    // The decision redirects to the app, whose address may lead on to any other.
    Ok(people::page_leading_anywhere(
        200,
        page.render().map_err(Error::internal),
        language,
    ))
}

/// Returns the description of the actions that a permission allows an app.
const fn describe(words: &ConsentWords, permission: Permission) -> &'static str {
    let words = &words.scope;
    match permission {
        Permission::ViewProperties => words.view_properties,
        Permission::ModifyProperties => words.modify_properties,
        Permission::ViewGuides => words.view_guides,
        Permission::ModifyGuides => words.modify_guides,
        Permission::ModifyTasks => words.modify_tasks,
        Permission::ManageOrganization => words.manage_organization,
        Permission::ViewReservations => words.view_reservations,
        Permission::ViewTasks => words.view_tasks,
        Permission::ViewDevices => words.view_devices,
        Permission::ViewWorkflows => words.view_workflows,
        Permission::ViewAnalytics => words.view_analytics,
    }
}

/// Returns the warning about a client's name. The data that a client gives about itself is
/// unverified (RFC 7591, section 5; draft client-id-metadata-document, section 6).
fn caution(words: &ConsentWords, client: &Client) -> Option<String> {
    match (client.origin, &client.id) {
        (AppOrigin::Platform, _) => None,
        (AppOrigin::Document, ClientId::Document(url)) => Some(
            words
                .described_at
                .replace("{host}", url.host_str().unwrap_or_default()),
        ),
        (AppOrigin::Document | AppOrigin::Registered, _) => {
            Some(words.registered_itself.to_owned())
        }
    }
}

/// Describes the properties that the app can access: those of the member.
async fn properties(
    service: &Service,
    words: &ConsentWords,
    signed_in: &SignedIn,
) -> Result<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct NamedScope {
        name: String,
    }
    let Some(ids) = signed_in.member.property_ids.clone() else {
        return Ok(words.every_property.to_owned());
    };
    let (count, organization) = (ids.len(), signed_in.organization.id);
    let rows = service
        .store
        .read_for(Some(organization), move |tx| {
            tx.rows(&PROPERTIES, &values![organization, ids, NAMED])
        })
        .await?;
    let names: Vec<String> = rows
        .iter()
        .map(|row| row.get(0).map(|Json::<NamedScope>(property)| property.name))
        .collect::<store::Result<_>>()?;
    let listed = names.join(", ");
    Ok(match count - names.len() {
        _ if names.is_empty() => words.no_property.to_owned(),
        0 => listed,
        more => words
            .and_more
            .replace("{names}", &listed)
            .replace("{more}", &more.to_string()),
    })
}

/// `POST /oauth/consent`: the member's decision.
pub(super) async fn decide(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let request_id = request_id(&parts);
    let parameters = Parameters::of_form(&parts.headers, body).await;
    let shared = service.clone();
    let decided = async {
        carry_out(&OauthRequest::begin(service, request_id, parts.headers, parameters?).await?)
            .await
    };
    let mut response = match decided.await {
        Ok(response) => response,
        Err(wrong) => wrong.answer(&shared, request_id),
    };
    note(&mut response, "decideConsent", None);
    response
}

/// Carries out the member's decision. Everything is checked again, because the form may have been
/// open for a long time.
async fn carry_out(visit: &OauthRequest) -> Result<Response, InvalidClient> {
    let Some(signed_in) = &visit.signed_in else {
        return Ok(visit.sign_in_first());
    };
    if !visit
        .parameters
        .get("form")
        .is_some_and(|token| signed_in.is_own_form(token))
    {
        return Ok(visit.problem(
            PageProblem::Form,
            visit.parameters.get("client_id").unwrap_or_default(),
        ));
    }
    let way = match visit.way().await? {
        Ok(way) => way,
        Err(instead) => return Ok(instead),
    };
    let asked = match visit.asked() {
        Ok(asked) => asked,
        Err(refusal) => return Ok(visit.back(&way, &refusal)),
    };
    match visit.parameters.get("decision") {
        Some("approve") => {}
        Some("deny") => {
            return Ok(visit.back(
                &way,
                &OauthRefusal::new(Code::AccessDenied, "The member denied the request."),
            ));
        }
        _ => return show(visit, &way, &asked, signed_in).await,
    }
    match approve(visit, &way, asked, signed_in).await? {
        Approved::Code(code) => {
            let (client, organization, member) = (
                &way.client.id,
                signed_in.organization.id,
                signed_in.member_id,
            );
            tracing::info!(request_id = %visit.request_id, %client, %organization, %member, "a member allowed an app");
            Ok(visit.to(&way, &[("code", &code)]))
        }
        Approved::Nothing => Ok(visit.back(
            &way,
            &OauthRefusal::new(
                Code::AccessDenied,
                "The member has none of the requested permissions.",
            ),
        )),
        Approved::ByNobody => Ok(visit.sign_in_first()),
        Approved::ForNobody => Ok(visit.problem(PageProblem::Client, &way.client.id.to_string())),
    }
}

/// The result of an approval.
enum Approved {
    /// A code.
    Code(String),
    /// The member holds none of the requested permissions.
    Nothing,
    /// The member no longer exists.
    ByNobody,
    /// The app no longer exists.
    ForNobody,
}

async fn approve(
    visit: &OauthRequest,
    way: &AnswerAddress,
    asked: AuthorizationRequest,
    signed_in: &SignedIn,
) -> Result<Approved> {
    let (service, request_id) = (&visit.service, visit.request_id);
    let client = json!({ "oauthAppId": way.client.id.to_string(), "name": way.client.name() });
    let (app, member_id, redirect_uri): (Uuid, Uuid, String) = (
        way.client.app,
        signed_in.member_id,
        way.redirect_uri.clone(),
    );
    grant::within(service, signed_in.organization.id, move |context| {
        let Some(member) = context.member(member_id)? else {
            return Ok(Approved::ByNobody);
        };
        if !Client::hold(context, app)? {
            return Ok(Approved::ForNobody);
        }
        let given = asked.scopes.held(&member.permissions);
        if given.is_empty() {
            return Ok(Approved::Nothing);
        }
        let allowed = Allowed {
            permissions: given.permissions().to_vec(),
            resource: Some(asked.resource),
            redirect_uri,
            challenge: asked.challenge.as_text().to_owned(),
        };
        let reported = [
            ("app", client),
            ("permissions", json!(allowed.permissions)),
            ("resource", json!(allowed.resource)),
        ];
        let changes = reported
            .into_iter()
            .map(|(field, value)| Change::to(field, value))
            .collect();
        let target = Target::new("member", Some(member_id), Some(member.name));
        let (actor, at) = (Actor::session(member_id), context.now());
        audit::write(
            context,
            AuditEntryRow {
                actor,
                operation: "allowApp",
                target,
                changes,
                request_id,
                at,
            },
        )?;
        code::make(context, member_id, app, &allowed).map(Approved::Code)
    })
    .await
}

//! The consent page: it shows the app and the requested permissions, and the member approves or
//! denies. The server shows the page for every request, even if the member has approved the app
//! before. An automatic approval could be abused by another program that uses the app's id (RFC
//! 8252, section 8.6).

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
use vestibule_http::surface::{attach_operation, request_id};

use super::authorize::{
    AuthorizationRequest, OauthRequest, PageError, REQUEST_PARAMETERS, RedirectTarget,
};
use super::client::{AppOrigin, ClientId, OauthClient};
use super::grant::{self, GrantData};
use super::parameters::OauthParameters;
use super::problem::ErrorPageKind;
use super::refusal::{OauthError, OauthErrorCode};
use super::{code, paths, redirect};
use crate::people::{self, SignInFrame, SignedIn};

store::statements! {
    /// Selects at most `?3` of the properties with these ids, the oldest first.
    PROPERTIES = "select doc from record where organization_id = ?1 and kind = 'property'
        and id = any(?2) order by created_at, id limit ?3";
}

/// Maximum number of property names on the page. If the app can access more properties, the page
/// shows only the number of the others.
const MAX_NAMES: u32 = 8;

/// The data of the page on which a member approves or denies an app's request.
#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage<'p> {
    frame: SignInFrame<'p>,
    words: &'static ConsentWords,
    app: String,
    /// A warning that the app's name is unverified; `None` if the platform created the app.
    caution: Option<String>,
    /// The host of the app's redirect address. If the address has the app's own URL scheme, this is
    /// the scheme, such as `com.example.app`.
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

/// Responds with the consent page for a valid authorization request.
pub(super) async fn show(
    request: &OauthRequest,
    redirect_target: &RedirectTarget,
    authorization: &AuthorizationRequest,
    signed_in: &SignedIn,
) -> Result<Response, PageError> {
    let (service, language) = (
        &request.service,
        people::language(&request.service, &request.headers),
    );
    let words = table(language);
    let organization = signed_in.organization.settings.name.as_str();
    let granted = authorization
        .scopes
        .restricted_to(&signed_in.member.permissions);
    let text = |permissions: &[Permission]| {
        permissions
            .iter()
            .map(|permission| describe(words, *permission))
            .collect::<Vec<_>>()
    };
    let not_granted: Vec<_> = authorization
        .scopes
        .permissions()
        .iter()
        .copied()
        .filter(|permission| !granted.permissions().contains(permission))
        .collect();
    let app = redirect_target.client.name();
    let title = words.title.replace("{app}", &app);
    let host = redirect::host(&redirect_target.redirect_uri);
    let page = ConsentPage {
        caution: caution(words, &redirect_target.client),
        leads_to: if redirect::is_local(&redirect_target.redirect_uri) {
            words.local.replace("{host}", &host)
        } else {
            host
        },
        organization,
        member: signed_in.member.email.clone(),
        through: match authorization.resource {
            Resource::Api => words.through_api,
            Resource::Mcp | Resource::McpReadOnly => words.through_tools,
        },
        properties: properties(service, words, signed_in).await?,
        granted: text(granted.permissions()),
        not_granted: text(&not_granted),
        lasts: words.lasts.replace("{organization}", organization),
        action: people::address(service, paths::CONSENT),
        form: signed_in.form_token(),
        hidden: request.parameters.all(&REQUEST_PARAMETERS).collect(),
        frame: SignInFrame::new(service, language, &title, Some(signed_in)),
        words,
        app,
    };
    // The app may redirect the browser to another site after the decision. So the content security
    // policy of the page allows its form to redirect to any address.
    Ok(people::page_with_external_form(
        200,
        page.render().map_err(Error::internal),
        language,
    ))
}

/// Describes the actions that the permission allows.
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

/// Returns the warning that a client's name is unverified; `None` for a client that the platform
/// created. This server does not verify the data that a client gives about itself (RFC 7591,
/// section 5; draft client-id-metadata-document, section 6).
fn caution(words: &ConsentWords, client: &OauthClient) -> Option<String> {
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

/// Returns a text about the properties to which the app gets access: all properties to which the
/// member has access. The text names at most [`MAX_NAMES`] of them.
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
            tx.rows(&PROPERTIES, &values![organization, ids, MAX_NAMES])
        })
        .await?;
    let names: Vec<String> = rows
        .iter()
        .map(|row| row.get(0).map(|Json::<NamedScope>(property)| property.name))
        .collect::<store::Result<_>>()?;
    let list = names.join(", ");
    Ok(match count - names.len() {
        _ if names.is_empty() => words.no_property.to_owned(),
        0 => list,
        more => words
            .and_more
            .replace("{names}", &list)
            .replace("{more}", &more.to_string()),
    })
}

/// Handles `POST /oauth/consent`, with which the member approves or denies a request.
pub(super) async fn decide(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let request_id = request_id(&parts);
    let parameters = OauthParameters::from_form(&parts.headers, body).await;
    let service_ref = service.clone();
    let decision = async {
        carry_out(&OauthRequest::begin(service, request_id, parts.headers, parameters?).await?)
            .await
    };
    let mut response = match decision.await {
        Ok(response) => response,
        Err(error) => error.into_page(&service_ref, request_id),
    };
    attach_operation(&mut response, "decideConsent", None);
    response
}

/// Executes the member's decision. Validates the whole authorization request again, because the
/// client or the member may have changed since the page was shown.
async fn carry_out(request: &OauthRequest) -> Result<Response, PageError> {
    let Some(signed_in) = &request.signed_in else {
        return Ok(request.redirect_to_sign_in());
    };
    if !request
        .parameters
        .get("form")
        .is_some_and(|token| signed_in.is_own_form(token))
    {
        return Ok(request.respond_with_error_page(
            ErrorPageKind::Form,
            request.parameters.get("client_id").unwrap_or_default(),
        ));
    }
    let redirect_target = match request.redirect_target().await? {
        Ok(redirect_target) => redirect_target,
        Err(page) => return Ok(page),
    };
    let authorization = match request.authorization_request() {
        Ok(authorization) => authorization,
        Err(error) => return Ok(request.redirect_with_error(&redirect_target, &error)),
    };
    match request.parameters.get("decision") {
        Some("approve") => {}
        Some("deny") => {
            return Ok(request.redirect_with_error(
                &redirect_target,
                &OauthError::new(
                    OauthErrorCode::AccessDenied,
                    "The member denied the request.",
                ),
            ));
        }
        _ => return show(request, &redirect_target, &authorization, signed_in).await,
    }
    match approve(request, &redirect_target, authorization, signed_in).await? {
        ApprovalResult::Code(code) => {
            let (client, organization, member) = (
                &redirect_target.client.id,
                signed_in.organization.id,
                signed_in.member_id,
            );
            tracing::info!(
                request_id = %request.request_id,
                %client,
                %organization,
                %member,
                "a member allowed an app"
            );
            Ok(request.redirect_with(&redirect_target, &[("code", &code)]))
        }
        ApprovalResult::NoPermission => Ok(request.redirect_with_error(
            &redirect_target,
            &OauthError::new(
                OauthErrorCode::AccessDenied,
                "The member has none of the requested permissions.",
            ),
        )),
        ApprovalResult::MemberDeleted => Ok(request.redirect_to_sign_in()),
        ApprovalResult::AppDeleted => Ok(request.respond_with_error_page(
            ErrorPageKind::Client,
            &redirect_target.client.id.to_string(),
        )),
    }
}

/// The result of an approval by the member.
enum ApprovalResult {
    /// The authorization code for the app.
    Code(String),
    /// The member holds none of the requested permissions.
    NoPermission,
    /// The member no longer exists.
    MemberDeleted,
    /// The app no longer exists.
    AppDeleted,
}

/// Creates an authorization code for the app, and writes the audit entry of the approval.
async fn approve(
    request: &OauthRequest,
    redirect_target: &RedirectTarget,
    authorization: AuthorizationRequest,
    signed_in: &SignedIn,
) -> Result<ApprovalResult> {
    let (service, request_id) = (&request.service, request.request_id);
    let client = json!({
        "oauthAppId": redirect_target.client.id.to_string(),
        "name": redirect_target.client.name(),
    });
    let (app, member_id, redirect_uri): (Uuid, Uuid, String) = (
        redirect_target.client.app,
        signed_in.member_id,
        redirect_target.redirect_uri.clone(),
    );
    grant::in_organization(service, signed_in.organization.id, move |context| {
        let Some(member) = context.member(member_id)? else {
            return Ok(ApprovalResult::MemberDeleted);
        };
        if !OauthClient::lock(context, app)? {
            return Ok(ApprovalResult::AppDeleted);
        }
        let granted = authorization.scopes.restricted_to(&member.permissions);
        if granted.is_empty() {
            return Ok(ApprovalResult::NoPermission);
        }
        let allowed = GrantData {
            permissions: granted.permissions().to_vec(),
            resource: Some(authorization.resource),
            redirect_uri,
            challenge: authorization.challenge.as_text().to_owned(),
        };
        let fields = [
            ("app", client),
            ("permissions", json!(allowed.permissions)),
            ("resource", json!(allowed.resource)),
        ];
        let changes = fields
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
        code::create_code(context, member_id, app, &allowed).map(ApprovalResult::Code)
    })
    .await
}

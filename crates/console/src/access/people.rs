//! Forms that invite a member, change a member, or create a member's sign-in link. Only members
//! with access to all flats may use them.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::form::{
    FormOutcome, FormView, Layout, ReadFuture, Resource, StoredResource, create_form,
    create_from_form, edit_form, save_form,
};
use super::super::frame::{CompletedAction, ConsoleFrame};
use super::super::refusal::ConsoleRefusal;
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::ScreenResponse;
use super::{MAX_CALLS, MEMBERS, PAGE_SIZE};

const LINK: &str = "createMemberSignInLink";
const PATH: &str = "/access/members";

static MEMBER: Resource = Resource {
    create: "inviteMember",
    read: MEMBERS,
    stored,
    update: "updateMember",
    layout: &Layout {
        create: &["name", "email", "permissions", "propertyIds"],
        sections: &[],
        omitted: &[],
        markdown: &[],
        names: &[],
        rules: &[],
    },
};

/// Refuses members who can access only some of the flats, because they may not manage members.
fn require(request: &ConsoleRequest) -> Result<(), ConsoleRefusal> {
    if request.manages_whole_organization() {
        Ok(())
    } else {
        Err(ConsoleRefusal::missing())
    }
}

fn stored(request: &ConsoleRequest, id: Uuid) -> ReadFuture<'_> {
    Box::pin(async move {
        for answer in 0..MAX_CALLS {
            let arguments = json!({ "limit": PAGE_SIZE, "offset": answer * PAGE_SIZE });
            let members: Vec<Value> = request.get(MEMBERS, arguments).await?;
            let is_last = members.len() < PAGE_SIZE;
            let id_text = id.to_string();
            let found = members
                .into_iter()
                .find(|member| member["id"].as_str() == Some(&id_text));
            if let Some(found) = found {
                return Ok(StoredResource::of(id, found));
            }
            if is_last {
                break;
            }
        }
        Err(ConsoleRefusal::missing())
    })
}

#[derive(Template)]
#[template(path = "member.html")]
struct PeoplePage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    /// The path of the page that creates a sign-in link for the shown member. `None` if the shown
    /// member is inactive, or if the signed-in member may not create such links.
    link: Option<String>,
    problem: Option<String>,
}

fn frame(request: &ConsoleRequest, title: String) -> ConsoleFrame<'_> {
    let words = &request.texts.access;
    ConsoleFrame::new(request, title).with_parent(request, words.members, PATH)
}

fn new_page(request: &ConsoleRequest, form: FormView) -> Response {
    let status = form.status;
    let page = PeoplePage {
        frame: frame(request, request.texts.access.invite.to_owned()),
        form,
        link: None,
        problem: None,
    };
    reply::page_of_template(request, status, &page)
}

pub(super) fn new(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let action = request.address(&format!("{PATH}/new"));
        Ok(new_page(
            request,
            create_form(request, &MEMBER, action).await?,
        ))
    })
}

pub(super) fn create(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let action = request.address(&format!("{PATH}/new"));
        match create_from_form(request, &MEMBER, action).await? {
            FormOutcome::Done(made) => Ok(linked(request, &made, made["signInUrl"].as_str())),
            FormOutcome::Refused(form) => Ok(new_page(request, *form)),
        }
    })
}

fn called(member: &Value) -> String {
    let name = member["name"].as_str().unwrap_or_default().trim();
    let email = member["email"].as_str().unwrap_or_default();
    if name.is_empty() { email } else { name }.to_owned()
}

fn page(
    request: &ConsoleRequest,
    stored: StoredResource,
    form: FormView,
    problem: Option<(u16, String)>,
) -> Response {
    let member = Value::Object(stored.value);
    let is_active = member["isActive"] == true;
    let status = problem.as_ref().map_or(form.status, |(status, _)| *status);
    let page = PeoplePage {
        frame: frame(request, called(&member)),
        form,
        link: (is_active && request.may(LINK))
            .then(|| request.address(&format!("{PATH}/{}/link", stored.id))),
        problem: problem.map(|(_, text)| text),
    };
    reply::page_of_template(request, status, &page)
}

fn action(request: &ConsoleRequest, stored: &StoredResource) -> String {
    request.address(&format!("{PATH}/{}", stored.id))
}

pub(super) fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let stored = stored(request, request.path_id("id")?).await?;
        let form = edit_form(request, &MEMBER, &stored, action(request, &stored)).await?;
        Ok(page(request, stored, form, None))
    })
}

pub(super) fn save(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let stored = stored(request, request.path_id("id")?).await?;
        match save_form(request, &MEMBER, &stored, action(request, &stored)).await? {
            FormOutcome::Done(is_changed) => {
                let done = CompletedAction::of_save(is_changed);
                Ok(reply::redirect_with_confirmation(
                    request,
                    &format!("{PATH}/{}", stored.id),
                    done,
                ))
            }
            FormOutcome::Refused(form) => Ok(page(request, stored, *form, None)),
        }
    })
}

#[derive(Template)]
#[template(path = "member-link.html")]
struct LinkPage<'v> {
    frame: ConsoleFrame<'v>,
    name: String,
    /// The sign-in link. `None` if the signed-in member sent the form a second time, because the
    /// console shows each link only once.
    url: Option<String>,
    way: String,
}

fn linked(request: &ConsoleRequest, member: &Value, url: Option<&str>) -> Response {
    let page = LinkPage {
        frame: frame(request, request.texts.access.link.to_owned()),
        name: called(member),
        url: url.map(str::to_owned),
        way: request.address(PATH),
    };
    reply::page_of_template(request, 200, &page)
}

pub(super) fn link(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let stored = stored(request, request.path_id("id")?).await?;
        let form = edit_form(request, &MEMBER, &stored, action(request, &stored)).await?;
        if !request.may_write() {
            return Ok(page(request, stored, form, None));
        }
        let created = request
            .create::<Value>(LINK, json!({ "id": stored.id }), &request.key("link"))
            .await;
        match created {
            Ok(created) => {
                let member = Value::Object(stored.value);
                Ok(linked(request, &member, created["url"].as_str()))
            }
            Err(refusal) => {
                let messages = refusal.sentences(request).join(" ");
                Ok(page(
                    request,
                    stored,
                    form,
                    Some((refusal.status, messages)),
                ))
            }
        }
    })
}

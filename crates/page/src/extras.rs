//! The page where a guest selects extras and requests them.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::pipeline::Service;
use features::guest::ExtraView;
use http::HeaderMap;
use serde_json::{Value, json};
use vestibule_http::browser::first_value;
use vestibule_http::surface::{PathParams, attach_operation};

use super::fields::{FieldInput, PageField};
use super::form;
use super::form_check::{Rejection, check_form};
use super::form_page::{FormEntry, FormPage};
use super::frame::PageFrame;
use super::missing_page::{self, MissingThing};
use super::operation_calls::PageRefusal;
use super::page_stay::PageStay;
use super::request::PageRequest;
use super::routes::read_form;
use super::step::RefusedForm;
use super::summary::Summary;
use super::{reply, sending};

type ExtrasService = State<Arc<Service>>;

/// Handles GET: shows the extras with the guest's selection.
pub async fn get(
    State(service): ExtrasService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let mut response = match request.load_stay().await {
        Ok(page_stay) => {
            let words = &page_stay.texts.extras;
            let notice = match request.query_parameter("sent") {
                Some("kept") => Some(words.kept),
                Some(_) => Some(words.requested),
                None => None,
            };
            page(&page_stay, notice)
        }
        Err(refusal) => request.error_page(&refusal),
    };
    attach_operation(&mut response, "getExtrasPage", request.requester);
    response
}

fn page(page_stay: &PageStay, notice: Option<&'static str>) -> Response {
    if page_stay.view.extras.is_empty() {
        return reply::page_of_stay(
            page_stay,
            404,
            missing_page::missing(page_stay, MissingThing::Manual),
        );
    }
    reply::page_of_stay(page_stay, 200, render(page_stay, notice, None))
}

/// Handles POST: saves the selection. If the form was sent with the button `request`, the handler
/// also requests the selected extras from the host.
pub async fn post(
    State(service): ExtrasService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, body) = PageRequest::of(service, params, request);
    let mut response = choose(&mut request, body).await;
    attach_operation(&mut response, "saveCartPage", request.requester);
    response
}

async fn choose(request: &mut PageRequest, body: Body) -> Response {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return request.error_page(&refusal),
    };
    if page_stay.view.extras.is_empty() {
        return page(&page_stay, None);
    }
    let words = page_stay.texts;
    let fields = read_form(&request.headers, body).await;
    let filled = check_form(&page_stay, fields.as_ref(), |fields| {
        form::cart(&page_stay.view.extras, fields)
    });
    let rejection = match filled {
        Ok((items, true)) if items.is_empty() => Rejection::whole(400, words.extras.empty),
        Ok((items, is_request)) => match send(request, &Value::Array(items), is_request).await {
            Ok(()) => return reply::redirect(&page_stay.links.extras_sent(is_request)),
            Err(refusal) => {
                let text = match refusal.status {
                    404 => words.pages.manual_missing,
                    _ => sending::text(&refusal, &page_stay),
                };
                Rejection {
                    retry_after: refusal.retry_after,
                    ..Rejection::whole(refusal.status, text)
                }
            }
        },
        Err(rejection) => rejection,
    };
    rejection.response(&page_stay, fields, |refused| {
        render(&page_stay, None, Some(refused))
    })
}

async fn send(
    request: &mut PageRequest,
    items: &Value,
    is_request: bool,
) -> Result<(), PageRefusal> {
    let body = Body::from(json!({ "items": items }).to_string());
    request
        .send("saveCart", &[], HeaderMap::new(), body)
        .await?;
    if is_request {
        request
            .send("requestExtras", &[], HeaderMap::new(), Body::empty())
            .await?;
    }
    Ok(())
}

fn render(
    page_stay: &PageStay,
    notice: Option<&'static str>,
    refused: Option<&RefusedForm>,
) -> engine::error::Result<String> {
    let words = page_stay.texts;
    let none = RefusedForm::default();
    let RefusedForm {
        typed,
        faults,
        text: message,
    } = refused.unwrap_or(&none);
    let entry = |extra: &'_ ExtraView| {
        let name = form::quantity_field(extra.id);
        let selected = page_stay
            .view
            .cart
            .iter()
            .find(|item| item.upsell_id == extra.id)
            .map(|item| item.quantity.to_string());
        let value = match typed {
            Some(typed) => first_value(typed, &name).map(str::to_owned),
            None => selected,
        };
        let id = name.replace('.', "-");
        (id, name, value.unwrap_or_default())
    };
    let entries: Vec<FormEntry<'_>> = page_stay
        .view
        .extras
        .iter()
        .map(|extra| {
            let (id, name, value) = entry(extra);
            let field = PageField {
                languages: None,
                id,
                error: faults
                    .0
                    .iter()
                    .any(|fault| fault.field == name)
                    .then(|| words.extras.number.to_owned()),
                name,
                label: &extra.name,
                hint: Some(words.extras.quantity.into()),
                is_required: false,
                is_marked: true,
                input: FieldInput::Line {
                    kind: "number",
                    autocomplete: "off",
                    value: Cow::Owned(value),
                    most: 2,
                },
            };
            FormEntry {
                image: extra.image_url.as_deref(),
                fields: vec![field],
                price: page_stay.money(extra.price_cents, extra.currency.as_deref()),
                text: extra.description.as_deref(),
            }
        })
        .collect();
    FormPage {
        summary: Summary::of(
            entries.iter().flat_map(|entry| &entry.fields),
            None,
            faults,
            *message,
            words,
        ),
        frame: PageFrame::of(page_stay, Some(words.extras.title)),
        title: words.extras.title,
        notice,
        action: (!page_stay.is_preview).then(|| page_stay.links.extras()),
        closed: None,
        key: None,
        entries,
        hint: Some(words.deposit.not_charged),
        buttons: vec![
            (Some("request"), words.extras.request),
            (None, words.extras.keep),
        ],
        past_title: "",
        past: Vec::new(),
    }
    .html()
}

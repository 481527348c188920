//! The page where a guest selects extras and asks for them.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::pipeline::Service;
use engine::surface::{PathParams, note};
use http::HeaderMap;
use serde_json::{Value, json};

use super::asking::Refusal;
use super::fields::{Field, Input};
use super::form;
use super::frame::Frame;
use super::notice::{self, Missing};
use super::posted::{Rejection, checked};
use super::routes::read_form;
use super::sheet::{Entry, Sheet};
use super::shown::Shown;
use super::step::Refused;
use super::summary::Summary;
use super::visit::Visit;
use super::{reply, sending};
use crate::guest::ExtraView;

type Server = State<Arc<Service>>;

/// Shows the extras with the guest's selection.
pub async fn get(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (mut visit, _) = Visit::of(service, params, request);
    let mut response = match visit.look().await {
        Ok(shown) => {
            let words = &shown.words.extras;
            let notice = match visit.asks("sent") {
                Some("kept") => Some(words.kept),
                Some(_) => Some(words.requested),
                None => None,
            };
            page(&shown, notice)
        }
        Err(refusal) => visit.instead(&refusal),
    };
    note(&mut response, "getExtrasPage", visit.requester);
    response
}

fn page(shown: &Shown, notice: Option<&'static str>) -> Response {
    if shown.view.extras.is_empty() {
        return reply::page_of_stay(shown, 404, notice::missing(shown, Missing::Manual));
    }
    reply::page_of_stay(shown, 200, render(shown, notice, None))
}

/// Keeps the selection, and asks for it where that button was used.
pub async fn post(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (mut visit, body) = Visit::of(service, params, request);
    let mut response = choose(&mut visit, body).await;
    note(&mut response, "saveCartPage", visit.requester);
    response
}

async fn choose(visit: &mut Visit, body: Body) -> Response {
    let shown = match visit.look().await {
        Ok(shown) => shown,
        Err(refusal) => return visit.instead(&refusal),
    };
    if shown.view.extras.is_empty() {
        return page(&shown, None);
    }
    let words = shown.words;
    let fields = read_form(&visit.headers, body).await;
    let filled = checked(&shown, fields.as_ref(), |fields| {
        form::cart(&shown.view.extras, fields)
    });
    let rejection = match filled {
        Ok((items, true)) if items.is_empty() => Rejection::whole(400, words.extras.empty),
        Ok((items, is_request)) => match send(visit, &Value::Array(items), is_request).await {
            Ok(()) => return reply::redirect(&shown.links.extras_sent(is_request)),
            Err(refusal) => {
                let said = match refusal.status {
                    404 => words.pages.manual_missing,
                    _ => sending::said(&refusal, &shown),
                };
                Rejection {
                    retry_after: refusal.retry_after,
                    ..Rejection::whole(refusal.status, said)
                }
            }
        },
        Err(rejection) => rejection,
    };
    rejection.response(&shown, fields, |refused| {
        render(&shown, None, Some(refused))
    })
}

async fn send(visit: &mut Visit, items: &Value, is_request: bool) -> Result<(), Refusal> {
    let body = Body::from(json!({ "items": items }).to_string());
    visit
        .ask::<Value>("saveCart", &[], Vec::new(), HeaderMap::new(), body)
        .await?;
    if is_request {
        visit
            .ask::<Value>(
                "requestExtras",
                &[],
                Vec::new(),
                HeaderMap::new(),
                Body::empty(),
            )
            .await?;
    }
    Ok(())
}

fn render(
    shown: &Shown,
    notice: Option<&'static str>,
    refused: Option<&Refused>,
) -> engine::error::Result<String> {
    let words = shown.words;
    let none = Refused::default();
    let Refused {
        typed,
        faults,
        said,
    } = refused.unwrap_or(&none);
    let entry = |extra: &'_ ExtraView| {
        let name = form::quantity_field(extra.id);
        let selected = shown
            .view
            .cart
            .iter()
            .find(|item| item.upsell_id == extra.id)
            .map(|item| item.quantity.to_string());
        let value = match typed {
            Some(typed) => form::sent(typed, &name).map(str::to_owned),
            None => selected,
        };
        let id = name.replace('.', "-");
        (id, name, value.unwrap_or_default())
    };
    let entries: Vec<Entry<'_>> = shown
        .view
        .extras
        .iter()
        .map(|extra| {
            let (id, name, value) = entry(extra);
            let field = Field {
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
                input: Input::Line {
                    kind: "number",
                    autocomplete: "off",
                    value: Cow::Owned(value),
                    most: 2,
                },
            };
            Entry {
                image: extra.image_url.as_deref(),
                fields: vec![field],
                price: shown.money(extra.price_cents, extra.currency.as_deref()),
                text: extra.description.as_deref(),
            }
        })
        .collect();
    Sheet {
        summary: Summary::of(
            entries.iter().flat_map(|entry| &entry.fields),
            None,
            faults,
            *said,
            words,
        ),
        frame: Frame::of(shown, Some(words.extras.title)),
        title: words.extras.title,
        notice,
        action: (!shown.is_preview).then(|| shown.links.extras()),
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

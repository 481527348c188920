//! A visit: which stay a request is about, in which language, and what the guest sees there.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, Request as HttpRequest};
use axum::response::Response;
use engine::format;
use engine::moment::Moment;
use engine::pipeline::{Requester, Service};
use engine::surface::{PathParams, query, readable, request_id};
use http::header::{ACCEPT_LANGUAGE, AUTHORIZATION};
use http::{HeaderMap, HeaderValue};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::asking::{self, Refusal, Said};
use super::form;
use super::languages;
use super::links::Links;
use super::memory::{Page, Pages};
use super::seen::View;
use super::shown::Shown;
use super::wallet::PassSigner;
use super::{notice, reply};
use crate::translations::ENGLISH;
use crate::words::in_language;

/// A request for something of the page, before its body is looked at.
pub struct Visit {
    pub service: Arc<Service>,
    pub id: Uuid,
    pub headers: HeaderMap,
    pub links: Links,
    token: String,
    /// Parameters of the path, but for the token; a thing whose id cannot be one is not there.
    ids: Vec<(String, Option<Uuid>)>,
    query: Vec<(String, String)>,
    /// The language that is asked for, where it is one.
    asked: Option<String>,
    /// Those that the browser accepts.
    accepted: Vec<String>,
    /// Whose request it is, once that is known.
    pub requester: Option<Requester>,
    /// What the interface was last asked for what the guest sees.
    seen: Option<Seen>,
}

/// What the interface was asked for what the guest sees, and answered.
struct Seen {
    language: Option<String>,
    state: Option<HeaderValue>,
}

impl Visit {
    /// What a request is about, and what it carries; nothing where its path names nothing.
    pub fn of(service: Arc<Service>, params: PathParams, request: HttpRequest) -> (Self, Body) {
        let (parts, body) = request.into_parts();
        let id = request_id(&parts);
        let query = query(&parts);
        let params = readable(params);
        let token = params.as_ref().map(|params| parameter(params, "token")).filter(|token| is_token(token)).unwrap_or_default().to_owned();
        let others = params.iter().flat_map(RawPathParams::iter).filter(|(name, _)| *name != "token");
        let ids = others.map(|(name, text)| (name.to_owned(), format::is_uuid(text).then(|| text.parse().ok()).flatten())).collect();
        let asked = form::sent(&query, "language").and_then(format::language);
        let accepted = parts.headers.get(ACCEPT_LANGUAGE).and_then(|header| header.to_str().ok()).map(languages::accepted);
        let links = Links::new(path(&service, &token), asked.clone());
        let (accepted, headers) = (accepted.unwrap_or_default(), parts.headers);
        (Self { service, id, headers, links, token, ids, query, asked, accepted, requester: None, seen: None }, body)
    }

    /// What the path names.
    #[must_use]
    pub fn named(&self, wanted: &str) -> Option<Uuid> {
        self.ids.iter().find(|(name, _)| name == wanted).and_then(|(_, id)| *id)
    }

    /// The page's address in full, as a guest would pass it on.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/stay/{}", self.service.kit.public_url.trim_end_matches('/'), self.token)
    }

    /// Whether everything that the path names could be there.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        self.ids.iter().all(|(_, id)| id.is_some())
    }

    /// A parameter of the query.
    #[must_use]
    pub fn asks(&self, wanted: &str) -> Option<&str> {
        form::sent(&self.query, wanted)
    }

    /// Whether the guest comes from handing pre-check-in in.
    #[must_use]
    pub fn is_handed_in(&self) -> bool {
        self.asks("handedIn").is_some()
    }

    /// The language that is spoken before it is known who asks.
    #[must_use]
    pub fn tag(&self) -> String {
        let spoken = languages::best(&self.accepted, &[], speaks);
        self.asked.clone().or(spoken).unwrap_or_else(|| ENGLISH.to_owned())
    }

    /// What the guest sees: at the moment that the query asks for, where it may, and else now.
    ///
    /// The address says in which language; else the guest's own; else the first that the browser accepts, of those that there
    /// is something in. The moment of a preview may be given as its form does, by the clock of the flat.
    pub async fn look(&mut self) -> Result<Shown, Refusal> {
        let asked_at = self.asks("at").map(str::to_owned);
        let by_clock =
            asked_at.as_deref().and_then(|at| at.parse::<DateTime>().ok()).filter(|_| !asked_at.as_deref().is_some_and(is_moment));
        let at = |at: String| ("at".to_owned(), at);
        let mut at = asked_at.filter(|_| by_clock.is_none()).map(at);
        let mut view = self.view(self.asked.clone(), at.clone()).await?;
        if let (Some(_), Some(time)) = (&view.preview, by_clock) {
            let zone = view.property.as_ref().and_then(|flat| TimeZone::get(&flat.timezone).ok()).unwrap_or(TimeZone::UTC);
            if let Ok(moment) = zone.to_timestamp(time) {
                at = Some(("at".to_owned(), Moment(moment).to_string()));
                view = self.view(self.asked.clone(), at.clone()).await?;
            }
        }
        let own = self.asked.clone().or_else(|| view.reservation.guest.language.as_deref().and_then(format::language));
        let (view, tag) = match own {
            Some(tag) => (view, tag),
            None => match languages::best(&self.accepted, &view.languages, speaks) {
                Some(tag) if languages::primary(&tag) != ENGLISH => (self.view(Some(tag.clone()), at.clone()).await?, tag),
                _ => (view, ENGLISH.to_owned()),
            },
        };
        let now = self.service.clock.now();
        let key = self.service.kit.ids.uuid(now);
        let (moment, is_preview) = match (&view.preview, &at) {
            (Some(preview), _) => (preview.at.0, true),
            (None, Some((_, at))) => (at.parse::<Moment>().map_or(now, |at| at.0), true),
            (None, None) => (now, false),
        };
        if let (Some(_), Some((_, at))) = (&view.preview, at) {
            self.links = self.links.clone().at_moment(at);
        }
        let has_passes = self.signer().is_some();
        Ok(Shown { has_passes, ..Shown::new(view, self.links.clone(), &tag, moment, is_preview, key) })
    }

    /// Who signs passes now.
    #[must_use]
    pub fn signer(&self) -> Option<&PassSigner> {
        self.service.kit.part::<PassSigner>().filter(|signer| signer.is_valid(self.service.clock.now()))
    }

    async fn view(&mut self, language: Option<String>, at: Option<(String, String)>) -> Result<View, Refusal> {
        self.stay(language, at).await?.read()
    }

    async fn stay(&mut self, language: Option<String>, at: Option<(String, String)>) -> Result<Said, Refusal> {
        let asked = language.clone().map(|language| ("language".to_owned(), language));
        let mut headers = HeaderMap::new();
        if let (Some(credential), Some(_)) = (self.headers.get(AUTHORIZATION), &at) {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        let said = self.say("getStay", &[], asked.into_iter().chain(at).collect(), headers, Body::empty()).await?;
        self.seen = Some(Seen { language, state: said.state.clone() });
        Ok(said)
    }

    /// What a page that is kept is found by: what it is asked for with, where it shows the moment that it is.
    #[must_use]
    pub fn key(&self, operation: &str) -> Option<Box<str>> {
        if self.asks("at").is_some() || self.is_handed_in() {
            return None;
        }
        let ids: String = self.ids.iter().filter_map(|(_, id)| *id).map(|id| id.to_string()).collect();
        let asked = self.asked.as_deref().unwrap_or_default();
        let has_passes = self.signer().is_some();
        Some(format!("{operation} {} {ids} {asked} {} {has_passes}", self.links.path(), self.accepted.join(",")).into())
    }

    /// The page that is kept under a key, where it is what would be rendered now.
    ///
    /// It says in which language what the guest sees was asked for: where that has not changed, neither has what decided on it.
    pub async fn remembered(&mut self, key: &str) -> Result<Option<Arc<Page>>, Refusal> {
        let kept = self.service.kit.part::<Pages>().and_then(|pages| pages.get(key, self.service.clock.now()));
        let Some(page) = kept else { return Ok(None) };
        let said = self.stay(page.language.clone(), None).await?;
        Ok((said.state.as_ref() == Some(&page.state)).then_some(page))
    }

    /// Keeps a page that was rendered of what the guest sees.
    pub fn remember(&self, key: Box<str>, shown: &Shown, html: &str) {
        let seen = self.seen.as_ref().and_then(|seen| Some((seen.language.clone(), seen.state.clone()?)));
        if let (Some(pages), Some((language, state)), false) = (self.service.kit.part::<Pages>(), seen, shown.is_preview) {
            pages.keep(key, Page::new(html.to_owned(), state, language, shown.now));
        }
    }

    /// What an operation of the guest interface answers about the stay.
    pub async fn ask<T: DeserializeOwned>(
        &mut self,
        operation: &str,
        path: &[(&str, Uuid)],
        query: Vec<(String, String)>,
        headers: HeaderMap,
        body: Body,
    ) -> Result<T, Refusal> {
        self.say(operation, path, query, headers, body).await?.read()
    }

    async fn say(
        &mut self,
        operation: &str,
        path: &[(&str, Uuid)],
        query: Vec<(String, String)>,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Said, Refusal> {
        let request = asking::request(self.id, &self.token, path, query, headers, body);
        let (requester, answer) = asking::ask(&self.service, operation, request).await;
        self.requester = requester.or(self.requester);
        answer
    }

    /// The page where there is no stay to show.
    pub fn instead(&self, refusal: &Refusal) -> Response {
        let tag = self.tag();
        reply::retriable(reply::page(refusal.status, notice::instead(refusal.status, &tag), &tag), refusal.retry_after)
    }
}

/// Whether a text is a point in time, whatever the clock there.
fn is_moment(text: &str) -> bool {
    text.parse::<Moment>().is_ok()
}

fn speaks(tag: &str) -> bool {
    in_language(tag).1 == languages::primary(tag)
}

/// Whether a text can be a stay's token; any other is not asked about, and stands in no address.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
}

/// A parameter of the path.
fn parameter<'p>(params: &'p RawPathParams, wanted: &str) -> &'p str {
    params.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value)
}

/// Where a browser finds the page of a stay, below whatever the proxy in front puts before the path.
fn path(service: &Service, token: &str) -> String {
    let prefix = url::Url::parse(&service.kit.public_url).map(|url| url.path().trim_end_matches('/').to_owned());
    format!("{}/stay/{token}", prefix.unwrap_or_default())
}

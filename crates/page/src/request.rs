//! A request to the guest page: the stay, the language, and the operations that the page calls.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, Request as HttpRequest};
use axum::response::Response;
use engine::moment::Moment;
use engine::operation::{Operation, OperationName};
use engine::pipeline::{LocalAnswer, Requester, Service};
use engine::{format, language};
use features::guest::{GET_PAGE_VIEW, GuestView, PAGE_VIEW, PageView, best_language, page_address};
use features::translations::ENGLISH;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use jiff::civil::DateTime;
use uuid::Uuid;
use vestibule_http::browser::{accepted_languages, first_value};
use vestibule_http::surface::{PathParams, query, readable, request_id};

use super::links::StayLinks;
use super::operation_calls::{self, PageRefusal};
use super::page_cache::{CachedPage, PageCache};
use super::page_stay::PageStay;
use super::wallet::PassSigner;
use super::{missing_page, reply};

/// A request to the guest page, whose body has not been read yet.
pub struct PageRequest {
    pub service: Arc<Service>,
    pub id: Uuid,
    pub headers: HeaderMap,
    pub links: StayLinks,
    token: String,
    /// The path parameters, without the token. A parameter whose value is not a UUID has the value
    /// `None`.
    ids: Vec<(String, Option<Uuid>)>,
    query: Vec<(String, String)>,
    /// The language that the query names; `None` if it is missing or invalid.
    requested_language: Option<String>,
    /// The language tags in the browser's `Accept-Language` header, the most preferred first.
    accepted: Vec<String>,
    /// The caller of the last operation that the page called. The page logs this caller. `None`
    /// until the page has called an operation.
    pub requester: Option<Requester>,
}

/// The time for which a preview is rendered, from the query parameter `at`.
enum PageMoment<'q> {
    /// The query parameter as the browser sent it, if it is not a local time. The operation that
    /// reads the guest view parses it, and refuses the request if it is not a timestamp.
    Sent(&'q str),
    /// A local time at the flat, from the form of a preview.
    Local(DateTime),
}

impl PageRequest {
    /// Reads path, query and headers of a request. Returns the page request and the unread body. If
    /// the path contains no valid token, the token is empty.
    pub fn of(service: Arc<Service>, params: PathParams, request: HttpRequest) -> (Self, Body) {
        let (parts, body) = request.into_parts();
        let id = request_id(&parts);
        let query = query(&parts);
        let params = readable(params);
        let token = params
            .as_ref()
            .map(|params| parameter(params, "token"))
            .filter(|token| is_token(token))
            .unwrap_or_default()
            .to_owned();
        let others = params
            .iter()
            .flat_map(RawPathParams::iter)
            .filter(|(name, _)| *name != "token");
        let ids = others
            .map(|(name, text)| {
                (
                    name.to_owned(),
                    format::is_uuid(text).then(|| text.parse().ok()).flatten(),
                )
            })
            .collect();
        let requested_language = first_value(&query, "language").and_then(language::parse_lenient);
        let accepted = accepted_languages(&parts.headers);
        let links = StayLinks::new(path(&service, &token), requested_language.clone());
        (
            Self {
                service,
                id,
                headers: parts.headers,
                links,
                token,
                ids,
                query,
                requested_language,
                accepted,
                requester: None,
            },
            body,
        )
    }

    /// Returns the address of the request without the punctuation after the token, such as a full
    /// stop. Messengers often make the punctuation after a link part of the link. Returns `None` if
    /// the address ends with the token, or if other characters follow.
    #[must_use]
    pub fn without_trailing_punctuation(
        service: &Service,
        params: &PathParams,
        request: &HttpRequest,
    ) -> Option<String> {
        let params = params.as_ref().ok()?;
        let written = parameter(params, "token");
        let rest = parameter(params, "rest");
        let token = written.trim_end_matches(ends_sentence);
        let is_ended = token.len() < written.len() || request.uri().path().ends_with('/');
        if !is_ended && rest.is_empty() || !rest.chars().all(ends_sentence) || !is_token(token) {
            return None;
        }
        let query = request.uri().query();
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        Some(format!("{}{query}", path(service, token)))
    }

    /// Creates a request without a browser, for example to build a wallet pass. The request names
    /// no language, so texts are in the guest's language.
    pub fn without_browser(service: Arc<Service>, token: String) -> Self {
        let links = StayLinks::new(path(&service, &token), None);
        Self {
            id: service.app_state.ids.uuid(service.clock.now()),
            service,
            headers: HeaderMap::new(),
            links,
            token,
            ids: Vec::new(),
            query: Vec::new(),
            requested_language: None,
            accepted: Vec::new(),
            requester: None,
        }
    }

    /// Returns the base URL of the web service from which phones fetch new versions of wallet
    /// passes.
    #[must_use]
    pub fn passes_url(&self) -> String {
        format!(
            "{}/passes",
            self.service.app_state.public_url.trim_end_matches('/')
        )
    }

    /// Returns the id in the path parameter `wanted`.
    #[must_use]
    pub fn path_id(&self, wanted: &str) -> Option<Uuid> {
        self.ids
            .iter()
            .find(|(name, _)| name == wanted)
            .and_then(|(_, id)| *id)
    }

    /// Returns the full address of the page, which a guest can share. If the branding has a domain,
    /// the address is on that domain, except for a preview.
    #[must_use]
    pub fn url(&self, view: &GuestView) -> String {
        let branding = view.branding.as_ref().filter(|_| view.preview.is_none());
        let host = branding.and_then(|branding| branding.domain.as_deref());
        page_address(&self.service.app_state.public_url, host, &self.token)
    }

    /// Returns whether every id in the path is a UUID.
    #[must_use]
    pub fn has_valid_ids(&self) -> bool {
        self.ids.iter().all(|(_, id)| id.is_some())
    }

    /// Returns the value of the query parameter `wanted`.
    #[must_use]
    pub fn query_parameter(&self, wanted: &str) -> Option<&str> {
        first_value(&self.query, wanted)
    }

    /// Returns whether the guest submitted the pre-check-in just before this request.
    #[must_use]
    pub fn is_just_submitted(&self) -> bool {
        self.query_parameter("handedIn").is_some()
    }

    /// Returns the language of a page that is rendered without the data of a stay, such as an error
    /// page.
    #[must_use]
    pub fn tag(&self) -> String {
        let language = best_language(self.accepted.iter().map(String::as_str), &[]);
        let language = self.requested_language.as_deref().or(language);
        language.unwrap_or(ENGLISH).to_owned()
    }

    /// Reads the guest's view, and returns the data of the page.
    pub async fn load_stay(&mut self) -> Result<PageStay, PageRefusal> {
        let answer = self.view().await?;
        self.page_stay(answer)
    }

    /// Reads the guest's view. If the caller may see a preview, the query parameter `at` can set
    /// the time for which the view is computed. The form of a preview sends a local time at the
    /// flat.
    ///
    /// The view is in the language that the address names. If it names none, the view is in the
    /// guest's language. If the guest's language is unknown, the service uses the browser's most
    /// preferred language that has texts.
    pub async fn view(&mut self) -> Result<LocalAnswer, PageRefusal> {
        let language = self.requested_language.clone();
        let language = language.map(|language| ("language".to_owned(), language));
        let accepted = self.accepted.iter();
        let accepted = accepted.map(|tag| ("accepted".to_owned(), tag.clone()));
        let mut headers = HeaderMap::new();
        let moment = match self.moment() {
            Some(PageMoment::Sent(at)) => {
                if let Some(credential) = self.headers.get(AUTHORIZATION) {
                    headers.insert(AUTHORIZATION, credential.clone());
                }
                Some(("at".to_owned(), at.to_owned()))
            }
            Some(PageMoment::Local(time)) => Some(("localTime".to_owned(), time.to_string())),
            None => None,
        };
        let query = language.into_iter().chain(accepted).chain(moment).collect();
        self.run(&GET_PAGE_VIEW, &[], query, headers, Body::empty())
            .await
    }

    /// Converts the answer of `getPageView`, which contains the guest's view, to the data that the
    /// templates of a page need.
    pub fn page_stay(&mut self, answer: LocalAnswer) -> Result<PageStay, PageRefusal> {
        let seen = operation_calls::value(PAGE_VIEW, answer)?;
        let PageView { view, language } = &*seen;
        let tag = self
            .requested_language
            .clone()
            .unwrap_or_else(|| language.clone());
        let now = self.service.clock.now();
        let key = self.service.app_state.ids.uuid(now);
        let at = match (self.moment(), &view.preview) {
            (Some(PageMoment::Sent(at)), _) => Some(at.to_owned()),
            (Some(PageMoment::Local(_)), Some(preview)) => Some(preview.at.to_string()),
            (Some(PageMoment::Local(_)), None) | (None, _) => None,
        };
        let (moment, is_preview) = match (&view.preview, &at) {
            (Some(preview), _) => (preview.at.0, true),
            (None, Some(at)) => (at.parse::<Moment>().map_or(now, |at| at.0), true),
            (None, None) => (now, false),
        };
        if let (Some(_), Some(at)) = (&view.preview, at) {
            self.links = self.links.clone().at_time(at);
        }
        let has_passes = self.signer().is_some();
        let country = view.property.as_ref().map(|flat| flat.country.as_str());
        let regional = features::words::regional(&tag, &self.accepted, country);
        let (view, links) = (view.clone(), self.links.clone());
        Ok(PageStay {
            regional,
            has_passes,
            ..PageStay::new(view, links, &tag, moment, is_preview, key)
        })
    }

    /// Returns the time in the query parameter `at`; `None` if the parameter is missing.
    fn moment(&self) -> Option<PageMoment<'_>> {
        let at = self.query_parameter("at")?;
        Some(match at.parse::<DateTime>() {
            Ok(time) if !is_moment(at) => PageMoment::Local(time),
            Ok(_) | Err(_) => PageMoment::Sent(at),
        })
    }

    /// Returns the signer of wallet passes; `None` if its certificate is not valid now.
    #[must_use]
    pub fn signer(&self) -> Option<&PassSigner> {
        self.service
            .app_state
            .extension::<PassSigner>()
            .filter(|signer| signer.is_valid(self.service.clock.now()))
    }

    /// Returns the cache key of the page. The key contains every part of the request that the page
    /// depends on. Returns `None` for pages that must not be cached: a preview, and the page right
    /// after the submission of the pre-check-in.
    #[must_use]
    pub fn key(&self, operation: &str) -> Option<Box<str>> {
        if self.query_parameter("at").is_some() || self.is_just_submitted() {
            return None;
        }
        let ids: String = self
            .ids
            .iter()
            .filter_map(|(_, id)| *id)
            .map(|id| id.to_string())
            .collect();
        let requested_language = self.requested_language.as_deref().unwrap_or_default();
        let has_passes = self.signer().is_some();
        Some(
            format!(
                "{operation} {} {ids} {requested_language} {} {has_passes}",
                self.links.path(),
                self.accepted.join(",")
            )
            .into(),
        )
    }

    /// Returns the cached page with this key. `state` is the `ETag` of the current guest view. A
    /// page that was rendered from a guest view with another `ETag` is not returned.
    pub fn cached_page(&self, key: &str, state: Option<&HeaderValue>) -> Option<Arc<CachedPage>> {
        let pages = self.service.app_state.extension::<PageCache>()?;
        pages
            .get(key, self.service.clock.now())
            .filter(|page| state == Some(&page.state))
    }

    /// Caches the HTML of a page, unless it is a preview. `state` is the `ETag` of the guest view
    /// from which the page was rendered.
    pub fn cache_page(&self, key: Box<str>, page_stay: &PageStay, state: HeaderValue, html: &str) {
        if let (Some(pages), false) = (
            self.service.app_state.extension::<PageCache>(),
            page_stay.is_preview,
        ) {
            pages.insert(key, CachedPage::new(html.to_owned(), state, page_stay.now));
        }
    }

    /// Calls an operation of the guest interface for the stay. Returns its answer.
    pub async fn call<O: Send + Sync + 'static>(
        &mut self,
        operation: OperationName<O>,
        path: &[(&str, Uuid)],
        body: Body,
    ) -> Result<Arc<O>, PageRefusal> {
        let answer = self
            .say(operation.id(), path, HeaderMap::new(), body)
            .await?;
        operation_calls::value(operation, answer)
    }

    /// Calls an operation of the guest interface for the stay. Does not return the value in the
    /// operation's answer.
    pub async fn send(
        &mut self,
        operation: &str,
        path: &[(&str, Uuid)],
        headers: HeaderMap,
        body: Body,
    ) -> Result<(), PageRefusal> {
        self.say(operation, path, headers, body).await.map(drop)
    }

    async fn say(
        &mut self,
        operation: &str,
        path: &[(&str, Uuid)],
        headers: HeaderMap,
        body: Body,
    ) -> Result<LocalAnswer, PageRefusal> {
        let operation = operation_calls::operation(&self.service, operation)?;
        self.run(operation, path, Vec::new(), headers, body).await
    }

    async fn run(
        &mut self,
        operation: &'static Operation,
        path: &[(&str, Uuid)],
        query: Vec<(String, String)>,
        headers: HeaderMap,
        body: Body,
    ) -> Result<LocalAnswer, PageRefusal> {
        let request = operation_calls::request(self.id, &self.token, path, query, headers, body);
        let (requester, answer) = operation_calls::call(&self.service, operation, request).await;
        self.requester = requester.or(self.requester);
        answer
    }

    /// Responds with the error page for an operation's refusal.
    pub fn error_page(&self, refusal: &PageRefusal) -> Response {
        let tag = self.tag();
        reply::retriable(
            reply::page(
                refusal.status,
                missing_page::error_page(refusal.status, &tag),
                &tag,
            ),
            refusal.retry_after,
        )
    }
}

/// Returns whether a text is a timestamp with a UTC offset, such as `2026-05-01T10:00:00Z`. A text
/// with such an offset needs no time zone to be understood.
fn is_moment(text: &str) -> bool {
    text.parse::<Moment>().is_ok()
}

/// Returns whether all characters of a text may occur in a stay's token. Any other text is neither
/// looked up in the database nor written into an address.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
}

/// Returns whether a character is punctuation that can follow a link in a sentence. The characters
/// of a stay's token, which is base64url text, are not punctuation.
fn ends_sentence(letter: char) -> bool {
    !letter.is_alphanumeric() && !matches!(letter, '-' | '_')
}

/// Returns the value of the path parameter `wanted`.
fn parameter<'p>(params: &'p RawPathParams, wanted: &str) -> &'p str {
    params
        .iter()
        .find(|(name, _)| *name == wanted)
        .map_or("", |(_, value)| value)
}

/// Returns the path of a stay's page. It begins with the path of the public URL.
fn path(service: &Service, token: &str) -> String {
    let prefix = url::Url::parse(&service.app_state.public_url)
        .map(|url| url.path().trim_end_matches('/').to_owned());
    format!("{}/stay/{token}", prefix.unwrap_or_default())
}

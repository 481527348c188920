//! Sign-in with the organization's own OpenID provider (OpenID Connect Core 1.0, code flow;
//! Discovery 1.0; PKCE, RFC 7636).
//!
//! State, nonce and PKCE verifier of a sign-in are derived from one secret in a cookie of the
//! browser. The server therefore stores nothing, and only the browser with the cookie can complete
//! the sign-in.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use engine::clock::Clock;
use engine::error::innermost;
use form_urlencoded::Serializer;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request as HttpRequest, Response as HttpResponse};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::discovery::{self, ProviderMetadata};
use super::form::{derived, is_derived};
use super::id_token::{self, Expected, InvalidToken, PersonClaims};
use super::refusal::SignInRefusal;

/// Deadline for all requests to the provider within one step of a sign-in.
const DEADLINE: Duration = Duration::from_secs(10);
/// Deadline for the provider's metadata. It is shorter than [`DEADLINE`], so that a concurrent
/// sign-in that waits for the metadata does not start a second request.
const INTRODUCTION: Duration = Duration::from_secs(7);
/// Maximum size of an answer: 1 MiB.
const ANSWER_LIMIT: usize = 1 << 20;
/// The user agent of requests to the provider.
const USER_AGENT: &str = "Vestibule-SignIn/1";
/// Time for which the provider's metadata and keys are kept.
const KEPT_FOR: Duration = Duration::from_secs(300);
/// Minimum age of the metadata before a missing key causes a new request for it.
const ASKED_AGAIN: Duration = Duration::from_secs(30);
/// Time for which a provider that did not answer gets no request for its metadata, so that not
/// every sign-in waits for it.
const PAUSE: Duration = Duration::from_secs(3);
/// Maximum number of concurrent code exchanges.
const AT_ONCE: usize = 32;

/// The organization's own provider.
pub struct IdentityProvider {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    line: ProviderClient,
    known: Mutex<CachedMetadata>,
    places: Semaphore,
}

/// The HTTP client for the provider.
struct ProviderClient {
    http: Client,
    /// Whether the issuer is on this machine, where http is allowed.
    is_to_itself: bool,
}

/// The cached metadata of the provider with its time, and the time of the last failure.
#[derive(Default)]
struct CachedMetadata {
    metadata: Option<(Duration, Arc<ProviderMetadata>)>,
    silent_since: Option<Duration>,
}

/// The reason why a request to the provider failed.
#[derive(Debug)]
struct ProviderFailure(String);

impl std::fmt::Display for ProviderFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProviderFailure {}

/// The answer that the provider gives through the browser.
pub(super) struct ProviderAnswer<'a> {
    /// The redirect address of the request.
    pub(super) redirect: &'a str,
    /// The secret that the sign-in is bound to.
    pub(super) secret: &'a str,
    pub(super) code: &'a str,
}

impl IdentityProvider {
    /// Creates the provider of an issuer. The issuer knows this service by a client id and,
    /// optionally, a secret.
    pub fn new(
        issuer: &str,
        client_id: &str,
        client_secret: Option<String>,
    ) -> Result<Self, String> {
        let failed =
            |what: String| format!("cannot create the client of the sign-in provider: {what}");
        let http = Client::builder()
            .user_agent(USER_AGENT)
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| failed(innermost(&error).to_string()))?;
        let url = Url::parse(issuer).map_err(|error| failed(error.to_string()))?;
        let is_to_itself = url.scheme() == "http";
        Ok(Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: client_secret.filter(|secret| !secret.is_empty()),
            line: ProviderClient { http, is_to_itself },
            known: Mutex::default(),
            places: Semaphore::new(AT_ONCE),
        })
    }

    /// Whether an answer names this issuer, or none (RFC 9207).
    pub(super) fn is_of(&self, issuer: Option<&str>) -> bool {
        issuer.is_none_or(|issuer| discovery::is_same_issuer(issuer, &self.issuer))
    }

    /// Returns the provider's address at which a browser signs in.
    pub(super) async fn begin(
        &self,
        clock: &Clock,
        redirect: &str,
        secret: &str,
    ) -> Result<Url, SignInRefusal> {
        let asked = async {
            let metadata = self.metadata(clock, KEPT_FOR).await?;
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier(secret)));
            let mut url = metadata.authorization.clone();
            url.query_pairs_mut()
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client_id)
                .append_pair("redirect_uri", redirect)
                .append_pair("scope", SCOPES)
                .append_pair("state", &derived(secret, STATE))
                .append_pair("nonce", &nonce(secret))
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256");
            if self.line.carries(&url) {
                Ok(url)
            } else {
                Err(down("its authorization endpoint is not https"))
            }
        };
        in_time(DEADLINE, asked).await
    }

    /// Checks for an operator whether members can sign in: reads metadata and keys, and asks
    /// whether a sign-in may begin. Returns the number of keys, or a fault and its remedy.
    pub async fn examine(&self, clock: &Clock, redirect: &str) -> Result<usize, (String, String)> {
        let response = |refusal: SignInRefusal| match refusal {
            SignInRefusal::ProviderDown(text) => text,
            other => format!("{other:?}"),
        };
        let metadata = self.metadata(clock, KEPT_FOR).await.map_err(|refusal| {
            let remedy = "check --oidc-issuer, and whether this machine reaches the provider";
            (response(refusal), remedy.to_owned())
        })?;
        if metadata.keys.is_empty() || metadata.algorithms.is_empty() {
            let text = format!("{}: it publishes no usable key or algorithm", self.issuer);
            return Err((text, "let it sign ID tokens with RS256 or ES256".into()));
        }
        let asked = async {
            let secret = URL_SAFE_NO_PAD.encode(Sha256::digest(redirect));
            let url = self
                .begin(clock, redirect, &secret)
                .await
                .map_err(response)?;
            let request = HttpRequest::get(url.as_str()).body(Vec::new());
            let request = request.map_err(|error| error.to_string())?;
            let answer = self.line.ask(request).await;
            Ok::<_, String>(answer.map_err(|error| error.to_string())?.status())
        };
        match asked.await {
            Ok(status) if status.is_client_error() => Err((
                format!("{}: it answers {status} to a sign-in", self.issuer),
                format!(
                    "register the client id {} with the redirect address {redirect} there",
                    self.client_id
                ),
            )),
            Ok(_) => Ok(metadata.keys.len()),
            Err(text) => Err((
                text,
                "check the authorization endpoint of the provider".into(),
            )),
        }
    }

    /// Exchanges the code of a sign-in and returns the verified mail address.
    pub(super) async fn finish(
        &self,
        clock: &Clock,
        answer: ProviderAnswer<'_>,
    ) -> Result<String, SignInRefusal> {
        let ProviderAnswer {
            redirect,
            secret,
            code,
        } = answer;
        let asked = async {
            let metadata = self.metadata(clock, KEPT_FOR).await?;
            let ProviderTokens { access, id } =
                self.exchange(&metadata, redirect, secret, code).await?;
            let nonce = nonce(secret);
            let expected = Expected {
                issuer: &self.issuer,
                client_id: &self.client_id,
                nonce: &nonce,
                now: clock.now().as_second(),
            };
            let response = match id_token::verify(&id, &metadata, expected) {
                Err(InvalidToken::NoKey) => {
                    // The provider may have new keys since the metadata was read.
                    let metadata = self.metadata(clock, ASKED_AGAIN).await?;
                    id_token::verify(&id, &metadata, expected)
                }
                response => response,
            };
            let person = response.map_err(|wrong| self.disbelieved(&wrong))?;
            let address = match person.address {
                None => self.userinfo_address(&metadata, &access, &person).await?,
                reported => reported,
            };
            match address {
                Some((address, true)) => Ok(address),
                Some((_, false)) => Err(self.unverified("email_verified is false; expected true")),
                None => Err(self.unverified(&format!(
                    "{} is missing in the ID token, and userinfo_endpoint does not give email and \
                     email_verified either; expected an address and true",
                    person.missing.unwrap_or("email"),
                ))),
            }
        };
        let _place = self
            .places
            .try_acquire()
            .map_err(|_| down("too many sign-ins already wait for it"))?;
        in_time(DEADLINE, asked).await
    }

    /// Exchanges a code (Core 1.0, 3.1.3.1; RFC 6749, section 4.1.3).
    async fn exchange(
        &self,
        metadata: &ProviderMetadata,
        redirect: &str,
        secret: &str,
        code: &str,
    ) -> Result<ProviderTokens, SignInRefusal> {
        let request = self.token_request(metadata, redirect, secret, code)?;
        let answer = self.line.ask(request).await.map_err(down)?;
        let response: Option<Value> = serde_json::from_slice(answer.body()).ok();
        if !answer.status().is_success() {
            let error = response
                .as_ref()
                .and_then(|response| response["error"].as_str());
            return Err(error.map_or_else(
                || down(format!("token_endpoint answered {}", answer.status())),
                |error| SignInRefusal::ProviderRefused(error.to_owned()),
            ));
        }
        let text = |name: &str| {
            let text = response
                .as_ref()
                .and_then(|response| response[name].as_str());
            text.map(str::to_owned)
                .ok_or_else(|| down(format!("the answer of token_endpoint has no {name}")))
        };
        Ok(ProviderTokens {
            access: text("access_token")?,
            id: text("id_token")?,
        })
    }

    /// Builds the request that exchanges a code. The client authenticates as the provider wants
    /// (RFC 6749, section 2.3.1).
    fn token_request(
        &self,
        metadata: &ProviderMetadata,
        redirect: &str,
        secret: &str,
        code: &str,
    ) -> Result<HttpRequest<Vec<u8>>, SignInRefusal> {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_verifier", &verifier(secret));
        let mut request = HttpRequest::post(metadata.token.as_str())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        match &self.client_secret {
            Some(own) if !metadata.is_secret_in_body => {
                let encoded = |text: &str| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let pair = format!("{}:{}", encoded(&self.client_id), encoded(own));
                request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
            }
            own => {
                form.append_pair("client_id", &self.client_id);
                if let Some(own) = own {
                    form.append_pair("client_secret", own);
                }
            }
        }
        request.body(form.finish().into_bytes()).map_err(down)
    }

    /// Returns the mail address from the userinfo endpoint. The ID token need not contain it (Core
    /// 1.0, 5.3 and 5.4). Returns `None` if the provider has no such endpoint.
    async fn userinfo_address(
        &self,
        metadata: &ProviderMetadata,
        token: &str,
        person: &PersonClaims,
    ) -> Result<Option<(String, bool)>, SignInRefusal> {
        let Some(userinfo) = &metadata.userinfo else {
            return Ok(None);
        };
        let request = HttpRequest::get(userinfo.as_str())
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(Vec::new()).map_err(down)?;
        let answer = self.line.ask(request).await.map_err(down)?;
        if !answer.status().is_success() {
            let status = answer.status();
            return Err(down(format!("userinfo_endpoint answered {status}")));
        }
        let claims = if is_signed(answer.headers()) {
            let token = String::from_utf8_lossy(answer.body());
            id_token::signed(token.trim(), metadata).map_err(|wrong| self.disbelieved(&wrong))?
        } else {
            serde_json::from_slice(answer.body())
                .map_err(|error| down(format!("userinfo_endpoint: {error}")))?
        };
        if !claims.is_object() {
            return Err(down("the answer of userinfo_endpoint is no object"));
        }
        let reported = PersonClaims::read(&claims).map_err(|wrong| self.disbelieved(&wrong))?;
        if reported.subject == person.subject {
            return Ok(reported.address);
        }
        let reason = "sub of userinfo_endpoint is not that of the ID token".into();
        Err(self.disbelieved(&InvalidToken::Claim(reason)))
    }

    /// Returns the refusal of claims that are not believed. It names the issuer for the log.
    fn disbelieved(&self, wrong: &InvalidToken) -> SignInRefusal {
        SignInRefusal::Disbelieved(format!("{}: {wrong}", self.issuer))
    }

    /// Returns the refusal of a mail address that is not verified. It names the issuer for the log.
    fn unverified(&self, came: &str) -> SignInRefusal {
        SignInRefusal::Unverified(format!("{}: {came}", self.issuer))
    }

    /// Reads a JSON document of the provider.
    async fn document(&self, name: &str, url: &str) -> Result<Value, SignInRefusal> {
        let request = HttpRequest::get(url).header(ACCEPT, "application/json");
        let request = request.body(Vec::new()).map_err(down)?;
        let failed = |what: String| down(format!("{}: {name}: {what}", self.issuer));
        let answer = self.line.ask(request).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        if answer.status() != http::StatusCode::OK {
            return Err(failed(format!("answered {}", answer.status())));
        }
        serde_json::from_slice(answer.body()).map_err(|error| failed(error.to_string()))
    }

    /// Reads the provider's metadata and keys.
    async fn discovered(&self) -> Result<ProviderMetadata, SignInRefusal> {
        let base = self.issuer.trim_end_matches('/');
        let at = format!("{base}/.well-known/openid-configuration");
        let document = self.document("discovery", &at).await?;
        let failed = |what: String| down(format!("{}: {what}", self.issuer));
        let mut metadata = ProviderMetadata::read(&document, &self.issuer).map_err(failed)?;
        let keys = self.document("jwks_uri", metadata.jwks.as_str()).await?;
        metadata.keys = discovery::keys(&keys).map_err(failed)?;
        Ok(metadata)
    }

    /// Returns the provider's metadata; cached metadata is used up to this age.
    async fn metadata(
        &self,
        clock: &Clock,
        oldest: Duration,
    ) -> Result<Arc<ProviderMetadata>, SignInRefusal> {
        let mut known = self.known.lock().await;
        let is_within = |since: Duration, time| clock.elapsed().saturating_sub(since) < time;
        if let Some((_, metadata)) = known
            .metadata
            .as_ref()
            .filter(|(since, _)| is_within(*since, oldest))
        {
            return Ok(metadata.clone());
        }
        if known
            .silent_since
            .is_some_and(|since| is_within(since, PAUSE))
        {
            return Err(down(
                "it did not answer a moment ago; it is asked again shortly",
            ));
        }
        let discovered = in_time(INTRODUCTION, self.discovered()).await;
        known.silent_since = discovered.is_err().then(|| clock.elapsed());
        let metadata = Arc::new(discovered?);
        known.metadata = Some((clock.elapsed(), metadata.clone()));
        Ok(metadata)
    }
}

impl ProviderClient {
    /// Whether a request to an address is protected: it uses https, or both the address and the
    /// issuer are on this machine.
    fn carries(&self, url: &Url) -> bool {
        url.scheme() == "https" || (self.is_to_itself && url.scheme() == "http" && is_loopback(url))
    }

    /// Sends a request to the provider. It follows no redirect and limits the size of the answer.
    async fn ask(
        &self,
        request: HttpRequest<Vec<u8>>,
    ) -> Result<HttpResponse<Vec<u8>>, ProviderFailure> {
        let heard = |error: reqwest::Error| {
            let error = error.without_url();
            ProviderFailure(if error.is_timeout() {
                "timed out".to_owned()
            } else {
                innermost(&error).to_string()
            })
        };
        let request = reqwest::Request::try_from(request).map_err(heard)?;
        if !self.carries(request.url()) {
            return Err(ProviderFailure("one of its endpoints is not https".into()));
        }
        let mut response = self.http.execute(request).await.map_err(heard)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(heard)? {
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Err(ProviderFailure("its answer is too large".into()));
            }
            body.extend_from_slice(&chunk);
        }
        let mut answer = HttpResponse::new(body);
        *answer.status_mut() = response.status();
        std::mem::swap(answer.headers_mut(), response.headers_mut());
        Ok(answer)
    }
}

/// The requested scopes.
const SCOPES: &str = "openid email";
/// The purpose of a derived state, which binds the provider's answer to this browser.
const STATE: &str = "state";

/// Whether a state belongs to the sign-in that is bound to a secret.
pub(super) fn is_state(sent: &str, secret: &str) -> bool {
    is_derived(sent, secret, STATE)
}

fn nonce(secret: &str) -> String {
    derived(secret, "nonce")
}

/// Returns a verifier of 43 characters, the required minimum (RFC 7636, 4.1).
fn verifier(secret: &str) -> String {
    derived(secret, "verifier")
}

/// The tokens of an exchange.
struct ProviderTokens {
    access: String,
    id: String,
}

/// Whether an answer is a signed token (Core 1.0, 5.3.2).
fn is_signed(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/jwt"))
}

/// Awaits a request to the provider within a deadline.
async fn in_time<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<T, SignInRefusal>>,
) -> Result<T, SignInRefusal> {
    tokio::time::timeout(deadline, asked)
        .await
        .unwrap_or_else(|_| Err(down("timed out")))
}

fn down(cause: impl std::fmt::Display) -> SignInRefusal {
    SignInRefusal::ProviderDown(cause.to_string())
}

/// Whether an address is on this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

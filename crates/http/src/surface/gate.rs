//! Checks the host of a request before the request reaches any route. A program may accept some of
//! its routes under hosts other than that of its public URL.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request as HttpRequest;
use futures_util::future::BoxFuture;
use http::Uri;
use http::header::HOST;
use http::uri::Authority;
use url::Url;

use engine::error::{Error, Result};
use engine::pipeline::Service;

/// A function that decides how a request under a host other than the public URL's is handled.
pub type Gate = fn(Arc<Service>, HostRequest) -> BoxFuture<'static, Result<GateDecision>>;

/// A request under a host other than the public URL's.
#[derive(Debug, Clone)]
pub struct HostRequest {
    /// The host without its port, in lower case, without a dot at its end.
    pub host: String,
    /// The URL path of the request, as the client sent it.
    pub path: String,
}

/// The decision how to handle a request whose host is not that of the public URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    /// The request is handled as it was sent.
    Pass,
    /// The request is handled with another path.
    Rewrite(&'static str),
}

/// The program's [`Gate`], and the host of the public URL. The gate is not called for requests
/// under this host.
#[derive(Clone)]
pub(super) struct HostGate {
    gate: Gate,
    public_host: Option<String>,
}

impl HostGate {
    pub(super) fn new(gate: Gate, public_url: &str) -> Self {
        let public_host = Url::parse(public_url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_ascii_lowercase));
        Self { gate, public_host }
    }

    /// Calls the gate if the request names a host other than that of the public URL. A request
    /// whose host is an IP address, or that names no host, passes without a call.
    pub(super) async fn admit(
        &self,
        service: &Arc<Service>,
        mut request: HttpRequest,
    ) -> Result<HttpRequest> {
        let Some(host) = host(&request).filter(|host| Some(host) != self.public_host.as_ref())
        else {
            return Ok(request);
        };
        if host.starts_with('[') || host.parse::<IpAddr>().is_ok() {
            return Ok(request);
        }
        let path = request.uri().path().to_owned();
        if let GateDecision::Rewrite(path) =
            (self.gate)(service.clone(), HostRequest { host, path }).await?
        {
            *request.uri_mut() = Uri::try_from(path).map_err(Error::internal)?;
        }
        Ok(request)
    }
}

/// Returns the host of a request, without its port.
fn host(request: &HttpRequest) -> Option<String> {
    let authority: Authority;
    let host_of_request = if let Some(host) = request.uri().host() {
        host
    } else {
        authority = request.headers().get(HOST)?.to_str().ok()?.parse().ok()?;
        authority.host()
    };
    let host = host_of_request.to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;

    use super::*;

    #[test]
    fn a_host_is_read_without_its_port_and_in_lower_case() {
        for (header, expected) in [
            ("stay.example.com", Some("stay.example.com")),
            ("Stay.Example.COM:8080", Some("stay.example.com")),
            ("stay.example.com.", Some("stay.example.com")),
            ("[::1]:8080", Some("[::1]")),
            ("", None),
            ("a b", None),
        ] {
            let request = Request::get("/x").header(HOST, header);
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(host(&request).as_deref(), expected, "{header}");
        }
        // The URL of an HTTP/2 request contains the host. That host takes precedence over the
        // header `Host`.
        let request = Request::get("https://A.example/x").header(HOST, "b.example");
        let request = request.body(Body::empty()).unwrap();
        assert_eq!(host(&request).as_deref(), Some("a.example"));
        let request = Request::get("/x").body(Body::empty()).unwrap();
        assert_eq!(host(&request), None);
    }
}

//! The flags of TLS and of the public address. The certificate comes from files or from a
//! certificate authority. The public address depends on the host names of the certificate.
//!
//! `crate::acme` obtains certificates from the authority.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, StringValueParser};
use store::Location;
use url::{Host, Url};

use super::ServeFlags;
use super::text::{self, TrimmedParser};
use super::values::{email, public_url};
use crate::acme::AcmeSettings;

/// The address of the ACME directory of Let's Encrypt.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Maximum number of host names in a certificate of Let's Encrypt.
const MAX_NAMES: usize = 100;
/// Maximum length of a host name (RFC 1035, section 2.3.4).
const MAX_NAME_LENGTH: usize = 253;
/// The port that certificate authorities and browsers connect to.
const HTTPS_PORT: u16 = 443;
/// The default port without TLS. Only this machine can reach it, because the default address is a
/// loopback address.
const LOCAL_PORT: u16 = 8080;
/// The default public URL, for commands that print links.
const LOCAL_URL: &str = "http://127.0.0.1:8080";

/// Flags of the service's TLS certificate.
#[derive(Debug, Clone, Args)]
pub struct TlsFlags {
    /// A PEM file with the TLS certificate and its intermediate certificates. Without this flag and
    /// `--tls-domain`, connections are not encrypted. Needs `--tls-key`. SIGHUP reloads both files.
    #[arg(
        long,
        env = "VESTIBULE_TLS_CERTIFICATE",
        value_name = "PEM",
        value_parser = TrimmedParser(PathBufValueParser::new())
    )]
    pub tls_certificate: Option<PathBuf>,
    /// A PEM file with the private key of the TLS certificate.
    #[arg(
        long,
        env = "VESTIBULE_TLS_KEY",
        value_name = "PEM",
        value_parser = TrimmedParser(PathBufValueParser::new())
    )]
    pub tls_key: Option<PathBuf>,
    /// A host name of this service. The service obtains and renews a certificate for the name from
    /// Let's Encrypt. By this flag you accept the terms of Let's Encrypt. Connections to port 443
    /// of the name must reach this service. Repeatable, or separated by commas.
    #[arg(
        long,
        env = "VESTIBULE_TLS_DOMAIN",
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub tls_domain: Vec<String>,
    /// The mail address that the certificate authority may write to. Needs `--tls-domain`.
    #[arg(
        long,
        env = "VESTIBULE_ACME_EMAIL",
        value_name = "ADDRESS",
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub acme_email: Option<String>,
    /// The ACME directory of another certificate authority [default: Let's Encrypt]. Needs
    /// `--tls-domain`.
    #[arg(
        long,
        env = "VESTIBULE_ACME_DIRECTORY",
        value_name = "URL",
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub acme_directory: Option<String>,
    /// A PEM file with an additional certificate authority that is trusted for connections to
    /// `--acme-directory`.
    #[arg(
        long,
        env = "VESTIBULE_ACME_ROOT",
        value_name = "PEM",
        value_parser = TrimmedParser(PathBufValueParser::new())
    )]
    pub acme_root: Option<PathBuf>,
    /// The directory for the account key and the certificate, which only its owner can read
    /// [default: beside a SQLite database; with PostgreSQL it must be given]. Needs `--tls-domain`.
    #[arg(
        long,
        env = "VESTIBULE_ACME_FOLDER",
        value_name = "DIRECTORY",
        value_parser = TrimmedParser(PathBufValueParser::new())
    )]
    pub acme_folder: Option<PathBuf>,
}

impl TlsFlags {
    /// Returns the files with the TLS certificate and its key.
    pub fn files(&self) -> Result<Option<(&Path, &Path)>, String> {
        match (
            non_empty(self.tls_certificate.as_ref()),
            non_empty(self.tls_key.as_ref()),
        ) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (Some(_), None) => Err("--tls-certificate needs --tls-key".into()),
            (None, Some(_)) => Err("--tls-key needs --tls-certificate".into()),
            (None, None) => Ok(None),
        }
    }

    /// Returns the host names of the certificate to obtain, in lower case and without duplicates.
    pub fn domains(&self) -> Result<Vec<String>, String> {
        domains(&self.tls_domain)
    }
}

impl ServeFlags {
    /// Returns the address and port on which the server listens.
    #[must_use]
    pub fn listen_address(&self) -> SocketAddr {
        let default = if has_domain(&self.tls.tls_domain) {
            (Ipv6Addr::UNSPECIFIED, HTTPS_PORT).into()
        } else {
            (IpAddr::from([127, 0, 0, 1]), LOCAL_PORT).into()
        };
        self.listen.unwrap_or(default)
    }

    /// Returns the public URL of the service: `--public-url`, or `https://` with the first domain
    /// of `--tls-domain`. Returns `None` if both are missing.
    #[must_use]
    pub fn public_address(&self) -> Option<String> {
        let first = || self.tls.domains().ok()?.into_iter().next();
        self.public_url
            .clone()
            .or_else(|| first().map(|name| format!("https://{name}")))
    }

    /// Returns the settings for a certificate from an authority, if `--tls-domain` is set.
    pub(crate) fn acme(&self) -> Result<Option<AcmeSettings>, String> {
        let names = self.tls.domains()?;
        let TlsFlags {
            acme_email,
            acme_directory,
            acme_root,
            acme_folder,
            ..
        } = &self.tls;
        let set = |text: Option<&String>| text.filter(|text| !text.is_empty()).cloned();
        let (address, directory) = (set(acme_email.as_ref()), set(acme_directory.as_ref()));
        let (root, folder) = (
            non_empty(acme_root.as_ref()),
            non_empty(acme_folder.as_ref()),
        );
        if names.is_empty() {
            let flags_set = [
                ("--acme-email", address.is_some()),
                ("--acme-directory", directory.is_some()),
                ("--acme-root", root.is_some()),
                ("--acme-folder", folder.is_some()),
            ];
            return match flags_set.into_iter().find(|(_, is_set)| *is_set) {
                Some((flag, _)) => Err(format!("{flag} needs --tls-domain")),
                None => Ok(None),
            };
        }
        if non_empty(self.tls.tls_certificate.as_ref()).is_some()
            || non_empty(self.tls.tls_key.as_ref()).is_some()
        {
            return Err(
                "--tls-domain obtains a certificate, and --tls-certificate names one in files; \
                    leave out one of them"
                    .into(),
            );
        }
        if let Some(url) = &self.public_url {
            check_public_url(url, &names)?;
        }
        let address = address
            .map(|address| email(&address).map_err(|reason| format!("--acme-email {reason}")))
            .transpose()?;
        let directory = directory.map_or(Ok(LETS_ENCRYPT.to_owned()), |url| directory_url(&url))?;
        let beside = || {
            let location = Location::of(&self.database.url().ok()?).ok()?;
            location.with_suffix(".acme")
        };
        let folder = folder.map(Path::to_owned).or_else(beside).ok_or(
            "--tls-domain needs --acme-folder with PostgreSQL: a directory that is kept, for the \
                account key and the certificate",
        )?;
        Ok(Some(AcmeSettings {
            names,
            email: address,
            directory,
            root: root.map(Path::to_owned),
            folder,
        }))
    }
}

/// The URL at which browsers reach the service. Commands such as `setup-link` print links below it.
#[derive(Debug, Clone, Args)]
pub struct PublicUrlFlags {
    /// The address at which browsers reach the service [default: `http://127.0.0.1:8080`, or the
    /// first name in `VESTIBULE_TLS_DOMAIN`].
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// The host names of `serve --tls-domain`. The first one is the default of `--public-url`.
    #[arg(
        long,
        env = "VESTIBULE_TLS_DOMAIN",
        hide = true,
        value_delimiter = ',',
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub tls_domain: Vec<String>,
}

impl PublicUrlFlags {
    /// Returns the public URL: the value of `--public-url`, otherwise `https://` with the first
    /// name in `--tls-domain`, otherwise the local address.
    pub fn address(&self) -> Result<String, String> {
        if let Some(url) = &self.public_url {
            return Ok(url.clone());
        }
        let first = domains(&self.tls_domain)?.into_iter().next();
        Ok(first.map_or_else(|| LOCAL_URL.to_owned(), |name| format!("https://{name}")))
    }
}

/// Returns a path, or `None` if it is empty. The variable of an unused flag may be set to an empty
/// text.
fn non_empty(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path)
        .filter(|path| !path.as_os_str().is_empty())
}

/// Returns whether any host name is set. Does not check the names.
fn has_domain(texts: &[String]) -> bool {
    texts.iter().any(|text| !text.trim().is_empty())
}

/// Parses host names. Skips empty texts.
fn domains(texts: &[String]) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for text in texts {
        let text = text::trim_setting(text).map_err(|reason| format!("--tls-domain: {reason}"))?;
        if text.is_empty() {
            continue;
        }
        let name = domain(text).map_err(|reason| format!("--tls-domain: {text:?} {reason}"))?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() > MAX_NAMES {
        return Err(format!(
            "--tls-domain: there are {} names; at most {MAX_NAMES} fit into a certificate",
            names.len()
        ));
    }
    Ok(names)
}

/// Parses a host name. Returns the name in the form of DNS: in ASCII and lower case.
fn domain(text: &str) -> Result<String, String> {
    if text.contains("://") || text.contains('/') {
        return Err("is an address; give the host name alone, such as guests.example.com".into());
    }
    if text.contains('*') {
        return Err("has a wildcard, which cannot be checked on port 443; give each name".into());
    }
    let invalid = || "is not a host name such as guests.example.com".to_owned();
    let name = match Host::parse(text.trim_end_matches('.')) {
        Ok(Host::Domain(name)) => name,
        Ok(_) => {
            return Err("is an IP address; give a host name such as guests.example.com".into());
        }
        Err(_) if text.contains(':') => {
            return Err(
                "has a port; give the host name alone, because authorities connect to port 443"
                    .into(),
            );
        }
        Err(_) => return Err(invalid()),
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() <= MAX_NAME_LENGTH && name.split('.').all(is_label) {
        Ok(name)
    } else {
        Err(invalid())
    }
}

/// Checks that the public address is https, and that its host is one of the host names of the
/// certificate.
fn check_public_url(url: &str, names: &[String]) -> Result<(), String> {
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    if parsed.scheme() != "https" {
        return Err(format!(
            "--public-url is {url}, and --tls-domain serves https; begin it with https, or leave \
                it out"
        ));
    }
    let host = parsed.host_str().unwrap_or_default();
    if names.iter().any(|name| name == host) {
        Ok(())
    } else {
        Err(format!(
            "--public-url is {url}, and {host} is not in --tls-domain; add it there, or leave \
                --public-url out"
        ))
    }
}

/// Parses the address of an ACME directory.
fn directory_url(text: &str) -> Result<String, String> {
    let is_directory = |url: &Url| {
        url.scheme() == "https"
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    match Url::parse(text) {
        Ok(url) if is_directory(&url) => Ok(text.to_owned()),
        _ => Err(format!(
            "--acme-directory: {text:?} is not an https address such as {LETS_ENCRYPT}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::{Cli, ServeCommand};
    use super::*;

    fn flags(arguments: &[&str]) -> ServeFlags {
        let all = ["vestibule", "serve"].iter().chain(arguments);
        let Ok(cli) = Cli::try_parse_from(all) else {
            panic!("{arguments:?} can be parsed")
        };
        let ServeCommand::Serve(flags) = cli.command else {
            panic!("serve was given")
        };
        flags
    }

    fn acme_error(arguments: &[&str]) -> String {
        flags(arguments).acme().map(drop).unwrap_err()
    }

    #[test]
    fn a_domain_gives_the_address_and_the_port() {
        let set = flags(&[
            "--tls-domain=Guests.example.com,b.example",
            "--tls-domain=bücher.example",
            "--database-url=sqlite:/data/v.db",
        ]);
        assert_eq!(set.listen_address().to_string(), "[::]:443");
        assert_eq!(
            set.public_address().as_deref(),
            Some("https://guests.example.com")
        );
        let acme = set.acme().unwrap().unwrap();
        assert_eq!(
            acme.names,
            ["guests.example.com", "b.example", "xn--bcher-kva.example"]
        );
        assert_eq!(acme.directory, LETS_ENCRYPT);
        assert_eq!(acme.folder, Path::new("/data/v.db.acme"));
        let none = flags(&["--tls-domain=", "--acme-email="]);
        assert_eq!(none.listen_address().to_string(), "127.0.0.1:8080");
        assert!(none.public_address().is_none() && none.acme().unwrap().is_none());
    }

    #[test]
    fn names_that_cannot_be_checked_are_refused() {
        for (name, words) in [
            ("https://guests.example.com", "the host name alone"),
            ("*.example.com", "wildcard"),
            ("192.0.2.1", "IP address"),
            ("[2001:db8::1]", "IP address"),
            ("guests.example.com:443", "has a port"),
            ("guests_1.example.com", "not a host name"),
            ("-a.example.com", "not a host name"),
            ("a..example.com", "not a host name"),
        ] {
            let reported = acme_error(&[&format!("--tls-domain={name}")]);
            assert!(
                reported.contains(words) && reported.contains(name),
                "{reported}"
            );
        }
    }

    #[test]
    fn contradictions_are_refused_in_words() {
        let domain = "--tls-domain=a.example";
        for (arguments, words) in [
            (
                vec!["--acme-email=a@b.example"],
                "--acme-email needs --tls-domain",
            ),
            (vec!["--acme-folder=x"], "--acme-folder needs --tls-domain"),
            (
                vec![domain, "--tls-certificate=a.pem", "--tls-key=b.pem"],
                "leave out one of them",
            ),
            (
                vec![domain, "--public-url=http://a.example"],
                "begin it with https",
            ),
            (
                vec![domain, "--public-url=https://b.example"],
                "b.example is not in --tls-domain",
            ),
            (
                vec![domain, "--acme-directory=http://ca.example/directory"],
                "not an https address",
            ),
            (vec![domain, "--acme-email=nobody"], "--acme-email must be"),
            (
                vec![domain, "--database-url=postgres://db/v"],
                "needs --acme-folder",
            ),
        ] {
            let reported = acme_error(&arguments);
            assert!(reported.contains(words), "{arguments:?}: {reported}");
        }
        let complete = flags(&[
            domain,
            "--database-url=postgres://db/v",
            "--acme-folder=/data/acme",
        ]);
        assert!(complete.acme().unwrap().is_some());
    }
}

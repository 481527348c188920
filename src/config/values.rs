//! Parses the values of flags, a function for each type of value. The flags in `super` and
//! `super::serve` use these functions as their parsers.

use std::net::IpAddr;
use std::time::Duration;

use access::people::is_loopback;
use engine::access::Permission;
use engine::format;
use engine::traces::Endpoint;
use features::records::RecordKind;
use ipnet::IpNet;
use strum::VariantArray as _;
use url::Url;

use super::text;

/// Maximum value of `--keep-alive`.
const MAX_KEEP_ALIVE: Duration = Duration::from_secs(3_600);
/// Maximum length of the name of an organization or a member, in characters.
const MAX_NAME_LENGTH: usize = 200;

/// Parses the name of an organization or a member. A blank name is an error.
pub fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.contains('\0') || name.chars().count() > MAX_NAME_LENGTH {
        return Err(format!("a name has 1 to {MAX_NAME_LENGTH} characters"));
    }
    Ok(name.to_owned())
}

/// Checks that a text has the format `name`, which is a format of the engine such as `country`.
/// Returns the text, or an error with the description of the format. If the engine has no such
/// format, every text is accepted.
fn check_format(text: &str, name: &str) -> Result<String, String> {
    let format = format::STATIC.iter().find(|format| format.name == name);
    match format {
        Some(format) if !(format.accepts)(text) => Err(format!("must be {}", format.description)),
        _ => Ok(text.to_owned()),
    }
}

pub fn country(text: &str) -> Result<String, String> {
    check_format(&text.trim().to_ascii_uppercase(), "country")
}

pub fn time_zone(text: &str) -> Result<String, String> {
    check_format(text.trim(), "time-zone")
}

pub fn language(text: &str) -> Result<String, String> {
    check_format(text.trim(), "language")
}

pub fn email(text: &str) -> Result<String, String> {
    check_format(text.trim(), "email")
}

pub fn permission(text: &str) -> Result<Permission, String> {
    text.trim().parse().map_err(|_| {
        let variants: Vec<&str> = Permission::VARIANTS.iter().map(AsRef::as_ref).collect();
        format!("must be one of {}", variants.join(", "))
    })
}

pub fn kind(text: &str) -> Result<RecordKind, String> {
    text.trim().parse().map_err(|_| {
        let variants: Vec<&str> = RecordKind::VARIANTS.iter().map(AsRef::as_ref).collect();
        format!("must be one of {}", variants.join(", "))
    })
}

/// Parses the `HEADER=FIELD` of a column, separated at the last `=`.
pub fn column(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((header, field)) if !header.trim().is_empty() && !field.trim().is_empty() => {
            Ok((header.trim().to_owned(), field.trim().to_owned()))
        }
        _ => Err("must be Header=field, such as \"Guest name=guest.firstName\"".to_owned()),
    }
}

/// Parses a duration, such as `500ms`, `30s`, `10m` or `24h`.
pub fn duration(raw: &str) -> Result<Duration, String> {
    let text = text::trim_setting(raw)?;
    let invalid = || format!("{text:?} is not a duration such as 500ms, 30s, 10m or 24h");
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(invalid)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| invalid())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(invalid()),
    };
    number
        .checked_mul(milliseconds)
        .map(Duration::from_millis)
        .ok_or_else(invalid)
}

/// Parses the time after which the server closes a connection on which no request arrives.
pub fn keep_alive(raw: &str) -> Result<Duration, String> {
    let time = duration(raw)?;
    if time.is_zero() || time > MAX_KEEP_ALIVE {
        return Err("must be longer than 0 and at most 1h".into());
    }
    Ok(time)
}

/// Parses a number of bytes, such as `512KiB`, `200MiB` or `20GiB`.
pub fn size(raw: &str) -> Result<u64, String> {
    let text = text::trim_setting(raw)?;
    let invalid = || format!("{text:?} is not a size such as 512KiB, 200MiB or 20GiB");
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(invalid)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| invalid())?;
    let bytes = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(invalid()),
    };
    number.checked_mul(bytes).ok_or_else(invalid)
}

/// Parses an origin as browsers send it: scheme, host and port, such as `https://app.example` or
/// `http://localhost:3000`.
pub fn origin(raw: &str) -> Result<String, String> {
    let text = text::trim_setting(raw)?;
    let origin = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .map(|url| url.origin().ascii_serialization());
    match origin {
        Some(origin) if origin.eq_ignore_ascii_case(text) => Ok(origin),
        _ => Err(format!(
            "{text:?} is not an origin such as https://app.example"
        )),
    }
}

/// Parses an address range such as `10.0.0.0/8`, or one address.
pub fn range(raw: &str) -> Result<IpNet, String> {
    let text = text::trim_setting(raw)?;
    let range = text.parse::<IpNet>().ok();
    range
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
        .ok_or_else(|| format!("{text:?} is not an address range such as 10.0.0.0/8"))
}

pub fn endpoint(raw: &str) -> Result<Endpoint, String> {
    Endpoint::at(text::trim_setting(raw)?)
}

pub fn public_url(text: &str) -> Result<String, String> {
    address(text, "https://stay.example.com")
}

pub fn translator_url(text: &str) -> Result<String, String> {
    address(text, "https://translate.example.com")
}

pub fn files_url(text: &str) -> Result<String, String> {
    address(text, "https://files.example.com")
}

pub fn stock_photos_url(text: &str) -> Result<String, String> {
    address(text, "https://api.unsplash.com")
}

/// Parses the issuer of an OpenID provider: a URL without query and fragment (OpenID Connect
/// Discovery, section 3). The URL must be https unless its host is this machine, because the
/// service sends secrets to it. A slash at the end stays, because issuers are compared exactly.
pub fn issuer(raw: &str) -> Result<String, String> {
    let text = text::trim_setting(raw)?;
    let invalid = || {
        format!(
            "{text:?} is not an issuer such as https://id.example.com; http is allowed for a \
                loopback address only"
        )
    };
    let url = Url::parse(text).map_err(|_| invalid())?;
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    let is_plain = url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty();
    if is_safe && is_plain {
        Ok(with_lower_origin(text))
    } else {
        Err(invalid())
    }
}

pub fn device_connector_url(raw: &str) -> Result<Url, String> {
    connector_url(raw, "https://devices.example.com/commands")
}

pub fn apns_url(raw: &str) -> Result<Url, String> {
    let example = "https://api.push.apple.com";
    let url = connector_url(raw, example)?;
    if url.query().is_some() {
        return Err(format!(
            "{url} has a query; it is an address such as {example}"
        ));
    }
    Ok(url)
}

/// Parses an http or https URL without user name, password and fragment.
fn connector_url(raw: &str, example: &str) -> Result<Url, String> {
    let text = text::trim_setting(raw)?;
    let is_plain = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    let url = Url::parse(text).ok().filter(is_plain);
    url.ok_or_else(|| format!("{text:?} is not an address such as {example}"))
}

/// Returns a URL with its scheme and its host in lower case. The other parts of the URL do not
/// change.
fn with_lower_origin(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A user name and a password before the host keep their case.
    let (user_info, host) = authority.split_at(authority.rfind('@').unwrap_or_default());
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    format!("{scheme}://{user_info}{host}{path}")
}

pub fn sign_in_url(raw: &str) -> Result<Url, String> {
    let text = text::trim_setting(raw)?;
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| format!("{text:?} is not an address such as https://app.example.com/sign-in"))
}

/// Parses an http or https address to which the service appends paths. Refuses an address with a
/// query or a fragment. Changes the origin to lower case, and removes slashes at the end.
fn address(raw: &str, example: &str) -> Result<String, String> {
    let text = text::trim_setting(raw)?;
    let is_base = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
            && text.contains("://")
            && !text.contains(char::is_whitespace)
    };
    match Url::parse(text) {
        Ok(url) if is_base(&url) => Ok(with_lower_origin(text).trim_end_matches('/').to_owned()),
        _ => Err(format!("{text:?} is not an address such as {example}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_flags_are_validated_and_normalized() {
        assert_eq!(
            origin("https://app.example").as_deref(),
            Ok("https://app.example")
        );
        assert_eq!(
            public_url("https://stay.example.com/guests/").as_deref(),
            Ok("https://stay.example.com/guests")
        );
        assert_eq!(
            translator_url("http://localhost:5000/").as_deref(),
            Ok("http://localhost:5000")
        );
        assert_eq!(
            stock_photos_url("https://api.unsplash.com").as_deref(),
            Ok("https://api.unsplash.com")
        );
        assert_eq!(
            files_url("https://files.example.com/photos/").as_deref(),
            Ok("https://files.example.com/photos")
        );
        for text in [
            "*",
            "null",
            "not an origin",
            "https://app.example/",
            "https://app.example/path",
            "ftp://x",
            "app.example",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
        for text in [
            "",
            "not a url",
            "ftp://x",
            "stay.example.com",
            "https://stay.example.com/?x",
        ] {
            assert!(
                public_url(text).is_err() && translator_url(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn issuer_and_sign_in_urls_must_be_secure() {
        for text in [
            "https://id.example.com",
            "https://id.example.com/",
            "https://id.example.com/realms/a",
            "http://127.0.0.1:9000",
            "http://[::1]:9",
            "http://localhost:9",
        ] {
            assert_eq!(issuer(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "id.example.com",
            "http://id.example.com",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "https://a?b",
            "https://a#b",
            "https://u@a",
            "ftp://a",
        ] {
            assert!(issuer(text).is_err(), "{text}");
        }
        assert!(sign_in_url("https://app.example.com/sign-in?from=stay").is_ok());
        for text in [
            "",
            "/sign-in",
            "javascript:alert(1)",
            "data:text/html,x",
            "app.example.com",
        ] {
            assert!(sign_in_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(size("0B"), Ok(0));
        assert_eq!(size("200MiB"), Ok(200 << 20));
        assert_eq!(size("20GiB"), Ok(20 << 30));
        for text in [
            "",
            "20",
            "MiB",
            "-1MiB",
            "1.5GiB",
            "1GB",
            "1 GiB",
            "99999999999TiB",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "30 s",
            "99999999999999999999h",
            "18446744073709551615h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}

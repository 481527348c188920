//! Tests of the pass for Apple Wallet. The tests unpack it with `unzip` and verify its signature
//! with `openssl`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use sha1_smol::Sha1;
use tempfile::TempDir;
use test_support::house::{House, with};
use test_support::left_out::leave_out;
use test_support::{ApiResponse, App, reservation};

use super::{StayBrowser, lacks, shows};

const DAY: Duration = Duration::from_secs(86_400);

/// Runs a program and returns its output. Panics if the program fails.
fn run_program(program: &str, arguments: &[&str], at: &Path) -> Vec<u8> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(at)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Returns whether `unzip` and `openssl` are installed. If one of them is missing, records the test
/// as skipped.
pub fn is_tested() -> bool {
    let is_there = |program: &&str| {
        Command::new(program)
            .arg("-v")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok()
    };
    let is_tested = ["openssl", "unzip"].iter().all(is_there);
    if !is_tested {
        leave_out(
            "passes",
            "openssl or unzip was not found",
            "VESTIBULE_REQUIRE_OPENSSL",
        );
    }
    is_tested
}

/// A certificate authority that signs the certificates of pass types, by an intermediate
/// certificate. `directory` contains the files of the certificates.
pub struct WalletAuthority {
    pub(super) directory: TempDir,
    pub(super) intermediate: (String, Issuer<'static, KeyPair>),
    /// The key pair that all pass type certificates of this authority contain.
    key: KeyPair,
}

impl WalletAuthority {
    /// Creates a root and an intermediate certificate authority. Writes the certificate of the root
    /// to `root.pem`.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = |name: &str| {
            let mut params = CertificateParams::new([]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            (params, KeyPair::generate().unwrap())
        };
        let (root, root_key) = authority("Root");
        std::fs::write(
            directory.path().join("root.pem"),
            root.self_signed(&root_key).unwrap().pem(),
        )
        .unwrap();
        let root = Issuer::new(root, root_key);
        let (params, key) = authority("Between");
        let pem = params.signed_by(&key, &root).unwrap().pem();
        // With `ring`, `rcgen` cannot generate RSA keys, so the test uses `openssl`.
        let rsa = run_program(
            "openssl",
            &[
                "genpkey",
                "-algorithm",
                "RSA",
                "-pkeyopt",
                "rsa_keygen_bits:2048",
            ],
            directory.path(),
        );
        let key_of_pass = KeyPair::from_pem(&String::from_utf8(rsa).unwrap()).unwrap();
        Self {
            directory,
            intermediate: (pem, Issuer::new(params, key)),
            key: key_of_pass,
        }
    }

    /// Writes the PEM file `name` with a pass type certificate, its key and the intermediate
    /// certificate. The pass type certificate has the subject `names` and is valid from the year
    /// `from`. Returns the file's path.
    fn file(&self, name: &str, names: &[(DnType, &str)], from: i32) -> String {
        let mut params = CertificateParams::new([]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        for (kind, value) in names {
            params.distinguished_name.push(kind.clone(), *value);
        }
        let certificate = params
            .signed_by(&self.key, &self.intermediate.1)
            .unwrap()
            .pem();
        let path = self.directory.path().join(name);
        // The service accepts the PEM blocks in any order and ignores text between them.
        let text = format!(
            "Bag Attributes\n{}\n{}\n{certificate}",
            self.intermediate.0,
            self.key.serialize_pem()
        );
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub fn usual(&self, name: &str, from: i32) -> String {
        let uid = DnType::CustomDnType(vec![0, 9, 2342, 19_200_300, 100, 1, 1]);
        let names = [
            (uid, "pass.com.example.stay"),
            (DnType::CommonName, "Pass"),
            (DnType::OrganizationalUnitName, "ABCDE12345"),
        ];
        self.file(name, &names, from)
    }
}

/// Downloads the pass of the house's stay; `None` if the stay has no pass.
pub(super) async fn pass(app: &App, house: &House<'_>, query: &str) -> Option<Vec<u8>> {
    let response = app
        .http
        .get(format!(
            "{}/stay/{}/stay.pkpass{query}",
            app.base, house.token
        ))
        .send()
        .await
        .unwrap();
    let (status, kind) = (
        response.status().as_u16(),
        response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned(),
    );
    assert_eq!(response.headers()["cache-control"], "no-store");
    match (status, kind.as_str()) {
        (200, "application/vnd.apple.pkpass") => Some(response.bytes().await.unwrap().to_vec()),
        (404, "text/html; charset=utf-8") => None,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_shows_place_dates_and_guest_and_is_signed() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let colours = json!({
        "name": "Casa & Mar",
        "primaryColor": "#0E7490",
        "secondaryColor": "#155E75",
        "isDefault": true,
    });
    house.api.post("/portal-brandings", colours).await.data();
    let flat = json!({
        "name": "Casa",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "checkInTime": "15:00",
        "checkOutTime": "11:00",
        "address": "Passeig de Colom 1, Barcelona",
        "latitude": 41.38,
        "longitude": 2.17,
    });
    house.org.put_record("property", house.flat, flat).await;
    let bytes = pass(&app, &house, "?language=es").await.unwrap();

    let at = authority.directory.path();
    std::fs::write(at.join("stay.pkpass"), bytes).unwrap();
    run_program("unzip", &["-q", "stay.pkpass", "-d", "stay"], at);
    let stay = at.join("stay");
    let read = |name: &str| std::fs::read(stay.join(name)).unwrap();
    let manifest: Value = serde_json::from_slice(&read("manifest.json")).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(&stay)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "icon.png",
            "icon@2x.png",
            "icon@3x.png",
            "manifest.json",
            "pass.json",
            "signature"
        ]
    );
    for name in ["icon.png", "icon@2x.png", "icon@3x.png", "pass.json"] {
        assert_eq!(
            manifest[name],
            Sha1::from(read(name)).digest().to_string(),
            "{name}"
        );
    }
    assert_eq!(manifest.as_object().unwrap().len(), 4);
    let verify = [
        "cms",
        "-verify",
        "-binary",
        "-inform",
        "DER",
        "-in",
        "stay/signature",
        "-content",
        "stay/manifest.json",
    ];
    let verified = run_program(
        "openssl",
        &[&verify[..], &["-CAfile", "root.pem", "-purpose", "any"]].concat(),
        at,
    );
    assert_eq!(verified, read("manifest.json"));
    let message = String::from_utf8(run_program(
        "openssl",
        &[
            "cms",
            "-cmsout",
            "-print",
            "-inform",
            "DER",
            "-in",
            "stay/signature",
        ],
        at,
    ))
    .unwrap();
    for part in ["signingTime", "Nov 21 09:30:", "messageDigest", "sha256"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // The signature of a pass does not match if the manifest was changed.
    std::fs::write(stay.join("manifest.json"), "{}").unwrap();
    let forged = Command::new("openssl")
        .args(verify)
        .args(["-CAfile", "root.pem", "-purpose", "any"])
        .current_dir(at)
        .output()
        .unwrap();
    assert!(!forged.status.success());

    let message: Value = serde_json::from_slice(&read("pass.json")).unwrap();
    let url = format!("{}/stay/{}", app.base, house.token);
    for (field, value) in [
        ("formatVersion", json!(1)),
        ("passTypeIdentifier", json!("pass.com.example.stay")),
        ("teamIdentifier", json!("ABCDE12345")),
        ("serialNumber", json!(house.stay)),
        ("organizationName", json!("Casa & Mar")),
        ("backgroundColor", json!("rgb(14, 116, 144)")),
        ("foregroundColor", json!("rgb(255, 255, 255)")),
        ("relevantDate", json!("2026-12-11T15:00:00+01:00")),
        ("expirationDate", json!("2026-12-16T00:00:00+01:00")),
        (
            "locations",
            json!([{ "latitude": 41.38, "longitude": 2.17 }]),
        ),
        (
            "barcodes",
            json!([
                { "format": "PKBarcodeFormatQR", "message": url, "messageEncoding": "iso-8859-1" },
            ]),
        ),
    ] {
        assert_eq!(message[field], value, "{field}");
    }
    let shown = message["generic"].to_string();
    for text in [
        "viernes, 11 de diciembre",
        "15:00",
        "Entrada",
        "Ada",
        "Passeig de Colom 1, Barcelona",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    for (name, size) in [
        ("icon.png", 29),
        ("icon@2x.png", 58),
        ("icon@3x.png", 87_u32),
    ] {
        let png = read(name);
        assert_eq!(
            (&png[..8], &png[16..20]),
            (&b"\x89PNG\r\n\x1a\n"[..], &size.to_be_bytes()[..]),
            "{name}"
        );
    }
}

/// Writes the reservation of the house again: the default reservation, with the fields of `more`
/// added or replaced.
async fn rebook(house: &House<'_>, more: Value) {
    let data = with(reservation(Some(house.flat)), more);
    house.org.put_record("reservation", house.stay, data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_is_offered_only_while_available() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    let offered = async || {
        let page = browser.open("").await;
        let is_offered = page.contains("/stay.pkpass");
        assert_eq!(
            (
                page.contains("Add to Apple Wallet"),
                pass(&app, &house, "").await.is_some()
            ),
            (is_offered, is_offered)
        );
        is_offered
    };
    assert!(offered().await);
    house
        .update_portal(house.portal, json!({ "isWalletPassEnabled": false }))
        .await;
    assert!(!offered().await);
    house
        .update_portal(house.portal, json!({ "isWalletPassEnabled": true }))
        .await;
    rebook(&house, json!({ "status": "tentative" })).await;
    assert!(!offered().await, "the booking is not confirmed");
    rebook(&house, json!({})).await;
    app.clock.advance(DAY * 21);
    assert!(offered().await);
    app.clock.advance(DAY * 4);
    assert!(
        !offered().await,
        "on the day of departure there is nothing left to show"
    );
    let unknown = ApiResponse::of(
        app.http
            .get(format!("{}/stay/nobody/stay.pkpass", app.base)),
    )
    .await;
    assert_eq!(unknown.status, 404);

    // A stay has no pass if the server has no certificate, or if the certificate is not valid yet.
    for flags in [
        vec![],
        vec![
            "--pass-certificate".to_owned(),
            authority.usual("later.pem", 2027),
        ],
    ] {
        let app = App::on_sqlite(&flags.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let house = House::build(&app).await;
        let page = StayBrowser::new(&house).open("").await;
        lacks(&page, &["stay.pkpass", "Wallet"]);
        shows(&page, &["stay.ics"]);
        assert!(pass(&app, &house, "").await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_has_the_times_of_the_stay_and_shows_another_year() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let own = json!({ "checkOut": "2027-12-11", "checkInTime": "13:00", "checkOutTime": "17:30" });
    rebook(&house, own).await;
    let pass = content(&authority, &pass(&app, &house, "").await.unwrap());
    let fields = &pass["generic"]["secondaryFields"];
    assert_eq!(
        (
            &pass["relevantDate"],
            &fields[0]["value"],
            &fields[1]["value"]
        ),
        (
            &json!("2026-12-11T13:00:00+01:00"),
            &json!("Friday 11 December, 13:00"),
            &json!("Saturday, 11 December 2027, 17:30")
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_pass_certificate_is_reported_at_start() {
    if !is_tested() {
        return;
    }
    test_support::choose_tls_provider();
    let authority = WalletAuthority::new();
    let uid = DnType::CustomDnType(vec![0, 9, 2342, 19_200_300, 100, 1, 1]);
    let key = authority.key.serialize_pem();
    let write = |name: &str, text: String| {
        let path = authority.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let database = format!(
        "sqlite:{}",
        authority.directory.path().join("test.db").display()
    );
    for (file, reported) in [
        ("/nowhere/pass.pem".to_owned(), "No such file"),
        (
            write("key.pem", key.clone()),
            "contains no certificate in PEM",
        ),
        (
            write("certificate.pem", authority.intermediate.0.clone()),
            "contains no private key in PEM",
        ),
        (
            write("other.pem", format!("{key}{}", authority.intermediate.0)),
            "none of its certificates belongs to its private key",
        ),
        (
            authority.file("no-team.pem", &[(uid, "pass.com.example.stay")], 2026),
            "names no team (OU of the subject)",
        ),
        (
            authority.file(
                "no-type.pem",
                &[(DnType::OrganizationalUnitName, "A")],
                2026,
            ),
            "names no pass type (UID of the subject)",
        ),
    ] {
        let flags = test_support::serve_flags(&database, &["--pass-certificate", &file]);
        let error = vestibule::server::Server::start(flags, engine::clock::Clock::system())
            .await
            .err()
            .unwrap();
        assert!(
            error.starts_with(&format!("--pass-certificate: {file}: ")) && error.contains(reported),
            "{error}"
        );
    }
}

/// Returns `pass.json` of a pass.
pub(super) fn content(authority: &WalletAuthority, bytes: &[u8]) -> Value {
    let at = authority.directory.path();
    std::fs::write(at.join("one.pkpass"), bytes).unwrap();
    let text = run_program("unzip", &["-p", "one.pkpass", "pass.json"], at);
    serde_json::from_slice(&text).unwrap()
}

/// A phone with the pass of a stay. It uses Apple's web service protocol for passes.
pub(super) struct PassPhone<'a> {
    pub(super) app: &'a App,
    pub(super) serial: String,
    pub(super) token: String,
}

pub(super) const TYPE: &str = "pass.com.example.stay";

impl PassPhone<'_> {
    async fn send(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<Value>,
    ) -> reqwest::Response {
        self.send_with(method, path, body, &self.token).await
    }

    async fn send_with(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<Value>,
        token: &str,
    ) -> reqwest::Response {
        let request = self
            .app
            .http
            .request(method, format!("{}/passes/v1{path}", self.app.base))
            .header("authorization", format!("ApplePass {token}"));
        match body {
            Some(body) => request.json(&body),
            None => request,
        }
        .send()
        .await
        .unwrap()
    }

    fn registration(&self) -> String {
        format!("/devices/phone-1/registrations/{TYPE}/{}", self.serial)
    }

    pub(super) async fn register(&self) -> u16 {
        let body = json!({ "pushToken": "abc" });
        let path = self.registration();
        self.send(reqwest::Method::POST, &path, Some(body))
            .await
            .status()
            .as_u16()
    }

    /// Returns the passes of the phone that have changed; `None` if no pass has changed. `since` is
    /// empty, or a query with the `lastUpdated` of an earlier response.
    pub(super) async fn changed(&self, since: &str) -> Option<Value> {
        let path = format!("/devices/phone-1/registrations/{TYPE}{since}");
        let response = self.send(reqwest::Method::GET, &path, None).await;
        match response.status().as_u16() {
            200 => Some(response.json().await.unwrap()),
            204 => None,
            other => panic!("{other}"),
        }
    }

    async fn latest(&self) -> reqwest::Response {
        let path = format!("/passes/{TYPE}/{}", self.serial);
        self.send(reqwest::Method::GET, &path, None).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_keeps_its_pass_up_to_date() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let first = content(&authority, &pass(&app, &house, "").await.unwrap());
    assert_eq!(first["webServiceURL"], format!("{}/passes", app.base));
    assert!(!first["generic"].to_string().contains("door-code"));
    let phone = PassPhone {
        app: &app,
        serial: first["serialNumber"].as_str().unwrap().to_owned(),
        token: first["authenticationToken"].as_str().unwrap().to_owned(),
    };
    assert_eq!(phone.changed("").await, None, "no pass on this phone");
    assert_eq!([phone.register().await, phone.register().await], [201, 200]);
    let known = phone.changed("").await.unwrap();
    assert_eq!(known["serialNumbers"], json!([house.stay]));
    let since = format!(
        "?passesUpdatedSince={}",
        known["lastUpdated"].as_str().unwrap()
    );
    assert_eq!(phone.changed(&since).await, None);

    app.clock.advance(Duration::from_secs(60));
    let lock = json!({ "name": "Front door", "code": "4711", "reservationId": house.stay });
    house.org.record("lock_code", lock).await;
    let other = json!({ "name": "Front door", "code": "9999", "propertyId": house.flat });
    house.org.record("lock_code", other).await;
    assert_eq!(
        phone.changed(&since).await.unwrap()["serialNumbers"],
        json!([house.stay])
    );
    let response = phone.latest().await;
    assert_eq!(response.status(), 200);
    let modified = response.headers()["last-modified"].clone();
    let latest = content(&authority, &response.bytes().await.unwrap());
    let text = latest["generic"].to_string();
    assert!(text.contains("4711") && !text.contains("9999"), "{text}");
    let again = app
        .http
        .get(format!(
            "{}/passes/v1/passes/{TYPE}/{}",
            app.base, phone.serial
        ))
        .header("authorization", format!("ApplePass {}", phone.token))
        .header("if-modified-since", modified)
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), 304);

    // If the host switches wallet passes off, the pass becomes void and no longer contains the door
    // code.
    house
        .update_portal(house.portal, json!({ "isWalletPassEnabled": false }))
        .await;
    let voided = content(&authority, &phone.latest().await.bytes().await.unwrap());
    assert_eq!(voided["voided"], true);
    assert!(!voided.to_string().contains("4711"));
    assert_eq!(phone.register().await, 401);
    assert_eq!(phone.changed("").await, None, "the registration is gone");

    house
        .update_portal(house.portal, json!({ "isWalletPassEnabled": true }))
        .await;
    assert_eq!(phone.register().await, 201);
    let path = phone.registration();
    let removed = phone.send(reqwest::Method::DELETE, &path, None).await;
    assert_eq!(removed.status(), 200);
    assert_eq!(phone.changed("").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_needs_its_token() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let first = content(&authority, &pass(&app, &house, "").await.unwrap());
    let token = first["authenticationToken"].as_str().unwrap().to_owned();
    let phone = PassPhone {
        app: &app,
        serial: house.stay.to_string(),
        token: token.clone(),
    };
    let get = format!("/passes/{TYPE}/{}", phone.serial);
    for wrong in ["", "wp_", &house.token, &token[..token.len() - 1], "é"] {
        if let Ok(wrong) = reqwest::header::HeaderValue::from_str(wrong) {
            let wrong = wrong.to_str().unwrap_or_default();
            let response = phone
                .send_with(reqwest::Method::GET, &get, None, wrong)
                .await;
            assert_eq!(response.status(), 401, "{wrong}");
        }
    }
    let other = house.org.reservation(Some(house.flat)).await;
    for (method, path, body, status) in [
        ("GET", format!("/passes/{TYPE}/{other}"), None, 401),
        ("GET", format!("/passes/{TYPE}/nothing"), None, 401),
        ("GET", format!("/passes/other/{}", phone.serial), None, 404),
        (
            "GET",
            "/devices/phone-1/registrations/other".to_owned(),
            None,
            404,
        ),
        ("POST", phone.registration(), Some(json!({})), 400),
        (
            "POST",
            phone.registration(),
            Some(json!({ "pushToken": " " })),
            400,
        ),
        (
            "POST",
            "/log".to_owned(),
            Some(json!({ "logs": ["a problem"] })),
            200,
        ),
        ("POST", "/log".to_owned(), None, 400),
    ] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let response = phone.send(method, &path, body).await;
        assert_eq!(response.status(), status, "{path}");
    }
    // A deleted reservation has no pass.
    house.org.delete_record("reservation", house.stay).await;
    assert_eq!(phone.latest().await.status(), 401);
}

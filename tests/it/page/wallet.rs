//! The stay as a pass for Apple Wallet: unpacked by `unzip`, and its signature held against its authority by `openssl`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use sha1_smol::Sha1;
use tempfile::TempDir;

use super::{Browser, lacks, shows};
use crate::support::house::House;
use crate::support::left_out::leave_out;
use crate::support::{Answer, App};

const DAY: Duration = Duration::from_secs(86_400);

/// Runs a program, which has to end well; its output.
fn run(program: &str, arguments: &[&str], at: &Path) -> Vec<u8> {
    let output = Command::new(program).args(arguments).current_dir(at).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Whether both programs are there; else the test is left out.
fn is_tested() -> bool {
    let is_there = |program: &&str| Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let is_tested = ["openssl", "unzip"].iter().all(is_there);
    if !is_tested {
        leave_out("passes", "openssl or unzip was not found", "VESTIBULE_REQUIRE_OPENSSL");
    }
    is_tested
}

/// An authority of the test's own.
struct Authority {
    directory: TempDir,
    intermediate: (String, Issuer<'static, KeyPair>),
    /// The key of a pass type.
    key: KeyPair,
}

impl Authority {
    /// Its root stands in `root.pem`.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = |name: &str| {
            let mut params = CertificateParams::new([]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            (params, KeyPair::generate().unwrap())
        };
        let (root, root_key) = authority("Root");
        std::fs::write(directory.path().join("root.pem"), root.self_signed(&root_key).unwrap().pem()).unwrap();
        let root = Issuer::new(root, root_key);
        let (params, key) = authority("Between");
        let pem = params.signed_by(&key, &root).unwrap().pem();
        // The house has no maker of RSA keys.
        let rsa = run("openssl", &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], directory.path());
        let key_of_pass = KeyPair::from_pem(&String::from_utf8(rsa).unwrap()).unwrap();
        Self { directory, intermediate: (pem, Issuer::new(params, key)), key: key_of_pass }
    }

    /// The file of a pass type from which on it is good.
    fn file(&self, name: &str, names: &[(DnType, &str)], from: i32) -> String {
        let mut params = CertificateParams::new([]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        for (kind, value) in names {
            params.distinguished_name.push(kind.clone(), *value);
        }
        let certificate = params.signed_by(&self.key, &self.intermediate.1).unwrap().pem();
        let path = self.directory.path().join(name);
        // Whatever stands between, and in whatever order.
        let text = format!("Bag Attributes\n{}\n{}\n{certificate}", self.intermediate.0, self.key.serialize_pem());
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn usual(&self, name: &str, from: i32) -> String {
        let uid = DnType::CustomDnType(vec![0, 9, 2342, 19_200_300, 100, 1, 1]);
        let names = [(uid, "pass.com.example.stay"), (DnType::CommonName, "Pass"), (DnType::OrganizationalUnitName, "ABCDE12345")];
        self.file(name, &names, from)
    }
}

/// The bytes of a pass, where there is one.
async fn pass(app: &App, house: &House<'_>, query: &str) -> Option<Vec<u8>> {
    let response = app.http.get(format!("{}/stay/{}/stay.pkpass{query}", app.base, house.token)).send().await.unwrap();
    let (status, kind) = (response.status().as_u16(), response.headers()["content-type"].to_str().unwrap().to_owned());
    assert_eq!(response.headers()["cache-control"], "no-store");
    match (status, kind.as_str()) {
        (200, "application/vnd.apple.pkpass") => Some(response.bytes().await.unwrap().to_vec()),
        (404, "text/html; charset=utf-8") => None,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_says_where_when_and_who_and_is_signed() {
    if !is_tested() {
        return;
    }
    let authority = Authority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let colours = json!({ "name": "Casa & Mar", "primaryColor": "#0E7490", "secondaryColor": "#155E75", "isDefault": true });
    house.api.post("/portal-brandings", colours).await.data();
    let flat = json!({ "name": "Casa", "timezone": "Europe/Madrid", "country": "ES", "checkInTime": "15:00", "checkOutTime": "11:00", "address": "Passeig de Colom 1, Barcelona", "latitude": 41.38, "longitude": 2.17 });
    house.org.put_record("property", house.flat, flat).await;
    let bytes = pass(&app, &house, "?language=es").await.unwrap();

    let at = authority.directory.path();
    std::fs::write(at.join("stay.pkpass"), bytes).unwrap();
    run("unzip", &["-q", "stay.pkpass", "-d", "stay"], at);
    let stay = at.join("stay");
    let read = |name: &str| std::fs::read(stay.join(name)).unwrap();
    let manifest: Value = serde_json::from_slice(&read("manifest.json")).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(&stay).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["icon.png", "icon@2x.png", "icon@3x.png", "manifest.json", "pass.json", "signature"]);
    for name in ["icon.png", "icon@2x.png", "icon@3x.png", "pass.json"] {
        assert_eq!(manifest[name], Sha1::from(read(name)).digest().to_string(), "{name}");
    }
    assert_eq!(manifest.as_object().unwrap().len(), 4);
    let verify = ["cms", "-verify", "-binary", "-inform", "DER", "-in", "stay/signature", "-content", "stay/manifest.json"];
    let verified = run("openssl", &[&verify[..], &["-CAfile", "root.pem", "-purpose", "any"]].concat(), at);
    assert_eq!(verified, read("manifest.json"));
    let said = String::from_utf8(run("openssl", &["cms", "-cmsout", "-print", "-inform", "DER", "-in", "stay/signature"], at)).unwrap();
    for part in ["signingTime", "Nov 21 09:30:", "messageDigest", "sha256"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Whatever is changed is no longer vouched for.
    std::fs::write(stay.join("manifest.json"), "{}").unwrap();
    let forged = Command::new("openssl").args(verify).args(["-CAfile", "root.pem", "-purpose", "any"]).current_dir(at).output().unwrap();
    assert!(!forged.status.success());

    let said: Value = serde_json::from_slice(&read("pass.json")).unwrap();
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
        ("locations", json!([{ "latitude": 41.38, "longitude": 2.17 }])),
        ("barcodes", json!([{ "format": "PKBarcodeFormatQR", "message": url, "messageEncoding": "iso-8859-1" }])),
    ] {
        assert_eq!(said[field], value, "{field}");
    }
    let shown = said["generic"].to_string();
    for text in ["viernes, 11 de diciembre", "15:00", "Entrada", "Ada", "Passeig de Colom 1, Barcelona"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    for (name, size) in [("icon.png", 29), ("icon@2x.png", 58), ("icon@3x.png", 87_u32)] {
        let png = read(name);
        assert_eq!((&png[..8], &png[16..20]), (&b"\x89PNG\r\n\x1a\n"[..], &size.to_be_bytes()[..]), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_is_offered_while_there_is_one() {
    if !is_tested() {
        return;
    }
    let authority = Authority::new();
    let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
    let house = House::build(&app).await;
    let browser = Browser::new(&house);
    let offered = async || {
        let page = browser.open("").await;
        let is_offered = page.contains("/stay.pkpass");
        assert_eq!((page.contains("Add to Apple Wallet"), pass(&app, &house, "").await.is_some()), (is_offered, is_offered));
        is_offered
    };
    assert!(offered().await);
    house.update_portal(house.portal, json!({ "isWalletPassEnabled": false })).await;
    assert!(!offered().await);
    house.update_portal(house.portal, json!({ "isWalletPassEnabled": true })).await;
    app.clock.advance(DAY * 21);
    assert!(offered().await);
    app.clock.advance(DAY * 4);
    assert!(!offered().await, "on the day of departure there is nothing left to show");
    let unknown = Answer::of(app.http.get(format!("{}/stay/nobody/stay.pkpass", app.base))).await;
    assert_eq!(unknown.status, 404);

    // Without a certificate, and with one that is not good yet, there is none.
    for flags in [vec![], vec!["--pass-certificate".to_owned(), authority.usual("later.pem", 2027)]] {
        let app = App::on_sqlite(&flags.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let house = House::build(&app).await;
        let page = Browser::new(&house).open("").await;
        lacks(&page, &["stay.pkpass", "Wallet"]);
        shows(&page, &["stay.ics"]);
        assert!(pass(&app, &house, "").await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_signs_no_pass_is_told_at_the_start() {
    if !is_tested() {
        return;
    }
    crate::support::choose_tls_provider();
    let authority = Authority::new();
    let uid = DnType::CustomDnType(vec![0, 9, 2342, 19_200_300, 100, 1, 1]);
    let key = authority.key.serialize_pem();
    let write = |name: &str, text: String| {
        let path = authority.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let database = format!("sqlite:{}", authority.directory.path().join("test.db").display());
    for (file, told) in [
        ("/nowhere/pass.pem".to_owned(), "No such file"),
        (write("key.pem", key.clone()), "holds no certificate in PEM"),
        (write("certificate.pem", authority.intermediate.0.clone()), "holds no private key in PEM"),
        (write("other.pem", format!("{key}{}", authority.intermediate.0)), "none of its certificates is of its private key"),
        (authority.file("no-team.pem", &[(uid, "pass.com.example.stay")], 2026), "names no team (OU of the subject)"),
        (authority.file("no-type.pem", &[(DnType::OrganizationalUnitName, "A")], 2026), "names no type of pass (UID of the subject)"),
    ] {
        let flags = crate::support::serve_flags(&database, &["--pass-certificate", &file]);
        let error = vestibule::server::Server::start(flags, engine::clock::Clock::system()).await.err().unwrap();
        assert!(error.starts_with(&format!("--pass-certificate: {file}: ")) && error.contains(told), "{error}");
    }
}
